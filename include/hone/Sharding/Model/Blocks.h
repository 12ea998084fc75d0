//===- Blocks.h - Collectives on contiguous memory --------------*- C++ -*-===//

#ifndef HONE_SHARDING_MODEL_BLOCKS_H
#define HONE_SHARDING_MODEL_BLOCKS_H

#include "hone/Sharding/IR/Dist.h"

namespace hone::dist {

/// Whether a collective exchanges blocks that lie one after another in
/// row-major operands and results, as libraries want them; `dist.shard`:
/// whether a part lies at equal distances in its operand. After
/// dist-lower-collectives every one does.
bool isInBlocks(mlir::Operation *op);

} // namespace hone::dist

#endif // HONE_SHARDING_MODEL_BLOCKS_H
