//===- MergeMaps.h - Elementwise ops in kernels that make codes -*- C++ -*-===//

#ifndef HONE_TRANSFORMS_FUSE_MERGEMAPS_H
#define HONE_TRANSFORMS_FUSE_MERGEMAPS_H

#include "mlir/IR/Block.h"

namespace hone {

/// Merges groups of `block`: where a map's results are read by nothing but a
/// group that makes codes of them, by tiles, that group computes the map, and
/// the results are never written. Its ops then work on matrices. Codes and
/// scales keep their bits.
void mergeMapsIntoCodes(mlir::Block &block);

} // namespace hone

#endif // HONE_TRANSFORMS_FUSE_MERGEMAPS_H
