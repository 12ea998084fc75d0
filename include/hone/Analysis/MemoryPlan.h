//===- MemoryPlan.h - Offsets for buffers with lifetimes --------*- C++ -*-===//
//
// The packing problem behind hone-plan-memory, on plain data: give every
// buffer an offset so that buffers which live at the same time do not overlap,
// in as few bytes as the heuristic finds (dynamic storage allocation).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MEMORYPLAN_H
#define HONE_ANALYSIS_MEMORYPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace hone {

/// A buffer that is live from position `first` to `last`, both included.
struct BufferRequest {
  int64_t bytes;
  int64_t first, last;
};

struct Packing {
  llvm::SmallVector<int64_t> offsets; ///< one per request, aligned
  int64_t bytes = 0;                  ///< end of the highest buffer
};

/// Places buffers by decreasing size, each at the lowest aligned offset where
/// it meets no live neighbour. Deterministic.
Packing packBuffers(llvm::ArrayRef<BufferRequest> requests, int64_t alignment);

/// The most bytes that are live at any one position: no packing needs less.
int64_t peakLiveBytes(llvm::ArrayRef<BufferRequest> requests,
                      int64_t alignment);

} // namespace hone

#endif // HONE_ANALYSIS_MEMORYPLAN_H
