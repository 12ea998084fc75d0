//===- Cublas.cpp - Opening cuBLASLt --------------------------------------===//

#include "exec/cuda/products/Cublas.h"
#include "exec/cuda/core/Libraries.h"

using namespace honert;

/// As cublasLtGetVersion counts: 12.0.0.
constexpr size_t oldestCublas = 120000;

/// Blocks came with 12.9; until 12.8.3 the library's own memory of algorithms
/// took products with and without MX scales for the same.
constexpr size_t oldestScales = 120900;

Status CublasFunctions::open() {
  VendorLibrary library;
  std::string name, why;
  for (const char *each : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    if (library.open(each)) {
      name = each;
      break;
    }
    why += (why.empty() ? "" : "; ") + libraryError();
  }
  if (name.empty())
    return Status::error(format("libcublasLt.so.13: cannot be opened (%s); "
                                "matrix products need cuBLAS 12 or 13 (is its "
                                "folder in LD_LIBRARY_PATH?)",
                                why.c_str()));
#define CUBLAS_FUNCTION(result, function, parameters)                          \
  function = reinterpret_cast<result(*) parameters>(library.find(#function));  \
  if (!function)                                                               \
    return Status::error(format("%s: has no %s; expected cuBLAS 12 or 13",     \
                                name.c_str(), #function));
#include "exec/cuda/products/Cublas.def"
#undef CUBLAS_FUNCTION
  if (cublasLtGetVersion() < oldestCublas)
    return Status::error(format("%s: is %s, expected 12.0 or later",
                                name.c_str(), versionText().c_str()));
  return Status();
}

Status CublasFunctions::checkScales() const {
  if (cublasLtGetVersion() >= oldestScales)
    return Status();
  return Status::error(format(
      "the program multiplies in fp8, for which it needs cuBLAS 12.9 or "
      "later; found %s (compile it with --precision=bf16, or put a later "
      "libcublasLt in LD_LIBRARY_PATH)",
      versionText().c_str()));
}

std::string CublasFunctions::versionText() const {
  size_t version = cublasLtGetVersion();
  return format("cuBLASLt %zu.%zu.%zu", version / 10000, version / 100 % 100,
                version % 100);
}
