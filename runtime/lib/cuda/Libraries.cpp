//===- Libraries.cpp - Opening the driver and cuBLASLt --------------------===//

#include "cuda/Libraries.h"
#include "cuda/Cublas.h"

#include <dlfcn.h>

using namespace honert;

extern "C" __attribute__((weak)) void *
honert_emulated_library(const char *library, const char *symbol);

bool VendorLibrary::open(const char *libraryName) {
  name = libraryName;
  if (honert_emulated_library)
    return honert_emulated_library(name, "") != nullptr;
  handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return handle != nullptr;
}

void *VendorLibrary::find(const char *symbol) const {
  return handle ? dlsym(handle, symbol) : honert_emulated_library(name, symbol);
}

std::string honert::libraryError() {
  const char *text = honert_emulated_library ? nullptr : dlerror();
  return text ? text : "no such library";
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

static std::string versionOf(int version) {
  return format("%d.%d", version / 1000, version % 1000 / 10);
}

Status DriverFunctions::open() {
  constexpr const char *library = "libcuda.so.1";
  VendorLibrary driver;
  if (!driver.open(library))
    return Status::error(format("%s: cannot be opened (%s); this program runs "
                                "on an NVIDIA GPU and needs its driver",
                                library, libraryError().c_str()));
#define CUDA_FUNCTION(function, parameters)                                    \
  function = reinterpret_cast<CUresult(*) parameters>(driver.find(#function)); \
  if (!function)                                                               \
    return Status::error(                                                      \
        format("%s: has no %s; expected a driver for CUDA %s "                 \
               "or later",                                                     \
               library, #function, versionOf(oldestDriver).c_str()));
#include "cuda/Driver.def"
#undef CUDA_FUNCTION
  int version = 0;
  HONERT_TRY(check(cuDriverGetVersion(&version), "the driver's version"));
  if (version < oldestDriver)
    return Status::error(
        format("%s: the driver is for CUDA %s, expected %s or later", library,
               versionOf(version).c_str(), versionOf(oldestDriver).c_str()));
  CUresult result = cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return Status::error(format("%s: the driver sees no GPU, expected one (is "
                                "CUDA_VISIBLE_DEVICES set?)",
                                library));
  return check(result, "the driver does not start");
}

Status DriverFunctions::check(CUresult result, const std::string &what) const {
  if (result == CUDA_SUCCESS)
    return Status();
  const char *name = nullptr, *text = nullptr;
  (void)cuGetErrorName(result, &name);
  (void)cuGetErrorString(result, &text);
  return Status::error(format("%s: %s (%s)", what.c_str(),
                              name ? name : std::to_string(result).c_str(),
                              text ? text : "unknown to the driver"));
}

//===----------------------------------------------------------------------===//
// cuBLASLt
//===----------------------------------------------------------------------===//

/// As cublasLtGetVersion counts: 12.0.0.
constexpr size_t oldestCublas = 120000;

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
#include "cuda/Cublas.def"
#undef CUBLAS_FUNCTION
  if (cublasLtGetVersion() < oldestCublas)
    return Status::error(format("%s: is %s, expected 12.0 or later",
                                name.c_str(), versionText().c_str()));
  return Status();
}

std::string CublasFunctions::versionText() const {
  size_t version = cublasLtGetVersion();
  return format("cuBLASLt %zu.%zu.%zu", version / 10000, version / 100 % 100,
                version % 100);
}
