//===- Nccl.cpp - Opening NCCL --------------------------------------------===//

#include "exec/cuda/collectives/Nccl.h"
#include "exec/cuda/core/Libraries.h"

#include <algorithm>

using namespace honert;

constexpr const char *libraryName = "libnccl.so.2";

Status NcclFunctions::open() {
  VendorLibrary library;
  if (!library.open(libraryName))
    return Status::error(format("%s: cannot be opened (%s); a program of "
                                "several ranks on GPUs needs NCCL 2.27 or "
                                "later (is its folder in LD_LIBRARY_PATH?)",
                                libraryName, libraryError().c_str()));
#define NCCL_FUNCTION(result, function, parameters)                            \
  function = reinterpret_cast<result(*) parameters>(library.find(#function));  \
  if (!function)                                                               \
    return Status::error(format("%s: has no %s; expected NCCL 2.27 or later",  \
                                libraryName, #function));
#define NCCL_OPTIONAL(result, function, parameters)                            \
  function = reinterpret_cast<result(*) parameters>(library.find(#function));
#include "exec/cuda/collectives/Nccl.def"
#undef NCCL_OPTIONAL
#undef NCCL_FUNCTION
  int version = 0;
  HONERT_TRY(check(ncclGetVersion(&version), "NCCL's version"));
  if (version < oldestNccl)
    return Status::error(format("%s: is NCCL %s, expected 2.27 or later",
                                libraryName, versionText().c_str()));
  return Status();
}

std::string NcclFunctions::versionText() const {
  int version = 0;
  (void)ncclGetVersion(&version);
  return format("%d.%d.%d", version / 10000, version / 100 % 100,
                version % 100);
}

Status NcclFunctions::check(ncclResult_t result, const std::string &what,
                            ncclComm_t comm) const {
  if (result == ncclSuccess)
    return Status();
  const char *latest = ncclGetLastError(comm);
  std::string reason = latest ? latest : "";
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  while (!reason.empty() && reason.back() == ' ')
    reason.pop_back();
  return Status::error(
      format("%s: NCCL: %s%s", what.c_str(), ncclGetErrorString(result),
             reason.empty() ? "" : (" (" + reason + ")").c_str()));
}
