//===- LineWork.h - Kernels of a GPU along lines ----------------*- C++ -*-===//
//
// An order, a sum up to each element or a placement by index is little
// arithmetic, but a thread does part of it step by step, and waits in each step
// for memory or for other threads. Those waits are what the kernel takes where
// there are few lines.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_LINEWORK_H
#define HONE_ANALYSIS_COST_LINEWORK_H

#include "hone/Analysis/Cost/TargetDescription.h"

#include <optional>

namespace hone {

struct LineWork {
  double waits = 0;      ///< one after the other
  double operations = 0; ///< on elements, of all threads
  int64_t kernels = 1;

  /// None of ops that have no such kernel on a GPU.
  static std::optional<LineWork> of(mlir::Operation *op);
  /// On a GPU, without launches.
  double seconds(const TargetDescription &target) const;
};

} // namespace hone

#endif // HONE_ANALYSIS_COST_LINEWORK_H
