//===- GatheredCodes.h - Ranks gather codes of weights ----------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_FUSE_GATHEREDCODES_H
#define HONE_TRANSFORMS_FUSE_GATHEREDCODES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hone {

/// Where ranks gather shards of a weight to make codes of all of it, lets each
/// make codes of its shard, and gathers these: half the bytes. That is so only
/// where codes and scales are the same bits. With `report`, a remark says why a
/// weight is gathered as numbers.
void gatherCodes(mlir::func::FuncOp func, bool report);

} // namespace hone

#endif // HONE_TRANSFORMS_FUSE_GATHEREDCODES_H
