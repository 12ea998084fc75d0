//===- Nccl.h - NCCL, opened when a program has more than one rank --------===//
//
// Types and values are declared here, so that the runtime builds without
// NVIDIA's headers; where nccl.h is found, CheckNcclHeader.cpp compares.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_NCCL_H
#define HONERT_EXEC_CUDA_COLLECTIVES_NCCL_H

#include "exec/cuda/core/Driver.h"

#include <string>

namespace honert {

using ncclResult_t = int;
using ncclDataType_t = int;
using ncclRedOp_t = int;
using ncclComm_t = struct NcclComm *;
using ncclWindow_t = struct NcclWindow *;
using cudaStream_t = CUstream;

struct ncclUniqueId {
  char internal[128];
};

/// The layout of NCCL 2.28: other versions read as much of it as they know.
struct ncclConfig_t {
  static constexpr int unset = INT32_MIN;

  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 22800;
  int blocking = unset;
  int cgaClusterSize = unset;
  int minCTAs = unset;
  int maxCTAs = unset;
  const char *netName = nullptr;
  int splitShare = unset;
  int trafficClass = unset;
  const char *commName = nullptr;
  int collnetEnable = unset;
  int CTAPolicy = unset;
  int shrinkShare = unset;
  int nvlsCTAs = unset;
  int nChannelsPerNetPeer = unset;
  int nvlinkCentricSched = unset;
};

enum : int {
#define NCCL_CONSTANT(name, value) name = value,
#include "exec/cuda/collectives/Nccl.def"
#undef NCCL_CONSTANT
};

/// Windows over memory that lies alike on all ranks, and what it is a multiple
/// of.
constexpr int ncclSymmetricWindow = 1;
constexpr int64_t ncclWindowAlignment = 4096;

/// The color of a rank that is in no part of a split.
constexpr int ncclSplitNoColor = -1;

/// The oldest version that is used, as ncclGetVersion counts: 2.27.0, the first
/// with windows. Launches of several communicators keep their order since 2.26.
constexpr int oldestNccl = 22700;

/// The functions of libnccl.so.2.
struct NcclFunctions {
#define NCCL_FUNCTION(result, name, parameters)                                \
  result(*name) parameters = nullptr;
#include "exec/cuda/collectives/Nccl.def"
#undef NCCL_FUNCTION

  /// Opens the library. Errors: there is none, or it is too old.
  Status open();
  /// "2.28.9"
  std::string versionText() const;
  /// Success, or "what: NCCL's words (its latest words on `comm`)". An
  /// operation that goes on (ncclInProgress) is none: see Communicator.
  Status check(ncclResult_t result, const std::string &what,
               ncclComm_t comm = nullptr) const;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_NCCL_H
