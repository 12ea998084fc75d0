//===- Lifetimes.h - Which actions write and free a window ------*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_PIPELINE_LIFETIMES_H
#define HONE_LIB_ANALYSIS_PIPELINE_LIFETIMES_H

#include "Positions.h"

#include "hone/Analysis/Pipeline/Windows.h"

namespace hone::pipeline {

/// Of the buffer of one micro-batch, in positions of its rank's list.
struct Lifetime {
  int first = -1; ///< the action or receive that writes it; -1: no buffer
  int last = -1;  ///< the action after which it is free; of a window that waits
                  ///< for sends: the send

  bool exists() const { return first >= 0; }
};

/// By micro-batch. Empty where the chunk has no such window.
std::vector<Lifetime> lifetimesOf(const Shape &shape,
                                  const Positions &positions, int chunk,
                                  WindowClass window);

} // namespace hone::pipeline

#endif // HONE_LIB_ANALYSIS_PIPELINE_LIFETIMES_H
