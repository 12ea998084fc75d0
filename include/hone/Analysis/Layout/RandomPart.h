//===- RandomPart.h - Where a part's random numbers lie ---------*- C++ -*-===//
//
// An op that has a part of a tensor draws what its elements draw in the whole
// (RandomOpInterface). Where dimensions are whole, neighbours stay neighbours:
// a few dimensions say where all elements are.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_LAYOUT_RANDOMPART_H
#define HONE_ANALYSIS_LAYOUT_RANDOMPART_H

#include "hone/IR/Hone.h"

namespace hone {

struct RandomPart {
  struct Dim {
    int64_t size, stride;
  };

  static RandomPart of(RandomOpInterface op);

  /// The part with as few dimensions as possible, at least one and the slowest
  /// first: element i_0, i_1, ... has number origin + sum_d i_d * stride_d in
  /// the whole.
  llvm::SmallVector<Dim> dims;
  /// Whether the origin is a multiple of 4, whatever part it is.
  bool isAligned = true;

  /// Whether element i has number origin + i.
  bool isRun() const { return dims.size() == 1 && dims.front().stride == 1; }
  /// Whether four elements from a multiple of 4 on have four numbers from a
  /// multiple of 4 on: the words of one counter.
  bool keepsCounters() const;
};

} // namespace hone

#endif // HONE_ANALYSIS_LAYOUT_RANDOMPART_H
