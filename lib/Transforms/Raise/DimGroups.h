//===- DimGroups.h - What a reshape joins and splits ------------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RAISE_DIMGROUPS_H
#define HONE_LIB_TRANSFORMS_RAISE_DIMGROUPS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace hone {

/// Neighbouring dimensions of two shapes that hold the same elements.
struct DimGroup {
  llvm::SmallVector<int64_t> from, to; ///< numbers of dimensions
};

/// The finest groups that a reshape of `from` to `to` keeps apart. A size of 1
/// that only one shape has is a group without dimensions of the other. None
/// for shapes without elements.
std::optional<llvm::SmallVector<DimGroup>>
groupDims(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RAISE_DIMGROUPS_H
