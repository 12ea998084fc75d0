//===- GroupSlices.h - Parts of a kernel that make some results -*- C++ -*-===//
//
// A kernel over rows may make several values of which only some are needed
// again. What makes them, given those that are still there, is a kernel too, of
// the same ops on the same operands: its bits are the same. A library call is
// recomputed whole, since part of it may be another algorithm.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_GROUPSLICES_H
#define HONE_ANALYSIS_RECOMPUTE_GROUPSLICES_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// Ops of a group's body that make some of its results.
struct GroupSlice {
  FusedOp group;
  KernelFamily family;
  llvm::SmallVector<unsigned> needed;       ///< results, increasing
  llvm::SmallVector<unsigned> given;        ///< results that it reads
  llvm::SmallVector<unsigned> inputs;       ///< operands that it reads
  llvm::SmallVector<mlir::Operation *> ops; ///< in program order
};

/// Whether part of the group can be a kernel: it has several results, and is
/// no library call.
bool isSliceable(FusedOp group);

/// What makes the results `needed` where those for which `isGiven` holds can
/// be read. Nothing if that is no kernel; the whole group always is one.
std::optional<GroupSlice>
sliceGroup(FusedOp group, llvm::ArrayRef<unsigned> needed,
           llvm::function_ref<bool(unsigned)> isGiven);

/// The slice with all results.
GroupSlice wholeGroup(FusedOp group);

/// Builds the group of a slice. `valueOf` says where an operand or a given
/// result of the original is now. Results are those of `needed`, in order.
FusedOp buildSlice(mlir::OpBuilder &builder, const GroupSlice &slice,
                   llvm::function_ref<mlir::Value(mlir::Value)> valueOf);

/// Takes results that nobody reads, and what only made them, out of a sliceable
/// group; erases a group of which no result is read. Returns whether it is
/// still there; `group` is then the one with fewer results.
bool dropUnread(FusedOp &group);

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_GROUPSLICES_H
