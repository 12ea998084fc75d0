//===- Driver.cpp - Opening the driver ------------------------------------===//

#include "exec/cuda/core/Driver.h"
#include "exec/cuda/core/Libraries.h"

using namespace honert;

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
#include "exec/cuda/core/Driver.def"
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
