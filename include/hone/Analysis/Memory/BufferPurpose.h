//===- BufferPurpose.h - What the memory of a value is for ------*- C++ -*-===//

#ifndef HONE_ANALYSIS_MEMORY_BUFFERPURPOSE_H
#define HONE_ANALYSIS_MEMORY_BUFFERPURPOSE_H

#include "hone/Analysis/Recompute/ForwardPart.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Sorts the values that a grouped function makes by what their memory is for.
/// Gradients are what the norm of gradients and updates read and what is
/// returned as such, also before a change of shape, as a part of it, or as a
/// sum that it is added onto.
class BufferPurposes {
public:
  explicit BufferPurposes(mlir::func::FuncOp func);

  plan::Purpose of(mlir::Value value) const;

private:
  void addGradient(mlir::Value value);

  ForwardPart forward;
  llvm::DenseSet<mlir::Value> gradients;
};

} // namespace hone

#endif // HONE_ANALYSIS_MEMORY_BUFFERPURPOSE_H
