//===- CheckHeader.cpp - Our declarations against nccl.h ------------------===//
//
// Compiled where nccl.h and cuda_runtime.h are found. No code: a wrong value or
// signature in the lists does not compile.
//
//===----------------------------------------------------------------------===//

#include <nccl.h>

#include "exec/cuda/collectives/Nccl.h"

#include <cstddef>
#include <type_traits>

#define NCCL_CONSTANT(name, value)                                             \
  static_assert(static_cast<int>(::name) == (value), #name);
#define NCCL_FUNCTION(result, name, parameters)                                \
  static_assert(std::is_same_v<decltype(&::name), result(*) parameters>, #name);
#include "exec/cuda/collectives/Nccl.def"

static_assert(sizeof(ncclUniqueId) == sizeof(honert::ncclUniqueId));
static_assert(NCCL_WIN_COLL_SYMMETRIC == honert::ncclSymmetricWindow);
static_assert(NCCL_WIN_REQUIRED_ALIGNMENT == honert::ncclWindowAlignment);
static_assert(NCCL_SPLIT_NOCOLOR == honert::ncclSplitNoColor);
static_assert(NCCL_CONFIG_UNDEF_INT == honert::ncclConfig_t::unset);
// Of later versions only the beginning is the same.
static_assert(sizeof(ncclConfig_t) >= sizeof(honert::ncclConfig_t));
#define SAME(field)                                                            \
  static_assert(offsetof(ncclConfig_t, field) ==                               \
                offsetof(honert::ncclConfig_t, field));
SAME(size)
SAME(magic)
SAME(version)
SAME(blocking)
SAME(splitShare)
SAME(trafficClass)
SAME(commName)
SAME(nvlsCTAs)
SAME(nvlinkCentricSched)
