//===- RingOps.h - Attention whose keys go around a ring --------*- C++ -*-===//

#ifndef HONE_SHARDING_IR_RINGOPS_H
#define HONE_SHARDING_IR_RINGOPS_H

#include "hone/Sharding/IR/Dist.h"

#define GET_OP_CLASSES
#include "hone/Sharding/IR/DistRingOps.h.inc"

namespace hone::dist {

/// On a `dist.shift` of the backward part, which repeats one of the forward
/// part: keys and values go around a ring again. CSE would merge the two, and
/// what they bring would stay in memory in between.
constexpr llvm::StringLiteral againAttr = "dist.again";

} // namespace hone::dist

#endif // HONE_SHARDING_IR_RINGOPS_H
