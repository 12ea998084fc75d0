//===- Cudnn.cpp - Opening cuDNN ------------------------------------------===//

#include "exec/cuda/attention/Cudnn.h"
#include "exec/cuda/core/Libraries.h"

#include <algorithm>

using namespace honert;

Status CudnnFunctions::take(const std::string &library,
                            const std::function<void *(const char *)> &find) {
#define CUDNN_FUNCTION(result, function, parameters)                           \
  function = reinterpret_cast<result(*) parameters>(find(#function));          \
  if (!function)                                                               \
    return Status::error(format("%s: has no %s; expected cuDNN 9",             \
                                library.c_str(), #function));
#include "exec/cuda/attention/Cudnn.def"
#undef CUDNN_FUNCTION
  if (cudnnGetVersion() < oldestCudnn)
    return Status::error(format("%s: is cuDNN %s, expected 9.19.0 or later",
                                library.c_str(), versionText().c_str()));
  return Status();
}

Status CudnnFunctions::open() {
  VendorLibrary library;
  if (!library.open(cudnnLibrary))
    return Status::error(format("%s: cannot be opened (%s); fused attention "
                                "needs cuDNN 9 (is its folder in "
                                "LD_LIBRARY_PATH?)",
                                cudnnLibrary, libraryError().c_str()));
  return take(cudnnLibrary,
              [&](const char *symbol) { return library.find(symbol); });
}

std::string CudnnFunctions::versionText() const {
  size_t version = cudnnGetVersion();
  return format("%zu.%zu.%zu", version / 10000, version / 100 % 100,
                version % 100);
}

/// The library's own words in one line: its messages name a source line of its
/// own first and may have several.
static std::string oneLine(std::string text) {
  if (size_t reason = text.find("Reason: "); reason != std::string::npos)
    text = text.substr(reason + 8);
  text = text.substr(0, text.find('\n'));
  text.erase(
      std::remove_if(text.begin(), text.end(), [](char c) { return c < ' '; }),
      text.end());
  return text;
}

Status CudnnFunctions::check(cudnnStatus_t status, const char *what) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return Status();
  char text[2048] = "";
  cudnnGetLastErrorString(text, sizeof text);
  std::string reason = oneLine(text);
  return Status::error(
      format("could not %s: %s%s", what, cudnnGetErrorString(status),
             reason.empty() ? "" : (" (" + reason + ")").c_str()));
}
