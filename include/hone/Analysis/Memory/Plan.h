//===- Plan.h - Offsets for buffers with lifetimes --------------*- C++ -*-===//
//
// The packing problem behind hone-plan-memory, on plain data: give every
// buffer an offset so that buffers which live at the same time do not overlap,
// in as few bytes as can be found (dynamic storage allocation). Why it is done
// as it is: docs/rationale/memory-plan.md.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MEMORY_PLAN_H
#define HONE_ANALYSIS_MEMORY_PLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace hone {

/// A buffer that is live from position `first` to `last`, both included.
struct BufferRequest {
  int64_t bytes;
  int64_t first, last;
};

/// How far to go. Work is counted, never timed, so that the same requests have
/// the same plan on every machine.
struct PackingLimits {
  /// Bytes that are good enough; nothing is gained below the lower bound.
  int64_t target = 0;
  /// Decisions of the search that follows when no greedy order reaches the
  /// target, one that looks at thousands of buffers counted as several; 0: no
  /// search. The default takes a second or less.
  int64_t maxNodes = 160'000;
  /// Neighbours that greedy orders may look at before no further one is tried:
  /// what bounds the time for tens of thousands of buffers.
  int64_t maxScanned = 150'000'000;
  /// Pairs of buffers that live at once, in buffers that are searched: what
  /// bounds the tables. More of them have greedy orders alone.
  int64_t maxPairs = 4'000'000;
};

struct Packing {
  llvm::SmallVector<int64_t> offsets; ///< one per request, aligned
  /// End of the highest buffer. INT64_MAX: the buffers do not fit into 63 bits,
  /// and the offsets mean nothing.
  int64_t bytes = 0;
  int64_t lowerBound = 0; ///< proved: no packing has fewer bytes
  int64_t nodes = 0;      ///< decisions that the search tried
  /// The limits that stopped short of the target, where `bytes` is above it.
  bool metNodes = false, metScanned = false, metPairs = false;
};

/// Packs the requests, sizes rounded up to `alignment`. Deterministic.
Packing packBuffers(llvm::ArrayRef<BufferRequest> requests, int64_t alignment,
                    const PackingLimits &limits = {});

/// The most bytes that are live at any one position: no packing needs less.
/// INT64_MAX if there are more.
int64_t peakLiveBytes(llvm::ArrayRef<BufferRequest> requests,
                      int64_t alignment);

} // namespace hone

#endif // HONE_ANALYSIS_MEMORY_PLAN_H
