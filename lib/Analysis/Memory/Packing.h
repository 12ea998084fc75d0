//===- Packing.h - The parts of the packing of buffers ----------*- C++ -*-===//
//
// What Analysis/Memory/Plan.cpp, which cuts a request into components, shares
// with the two ways to pack one: by rule (GreedyPacking.cpp) and by search
// (PackingSearch.cpp). docs/rationale/memory-plan.md tells the whole.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_MEMORY_PACKING_H
#define HONE_LIB_ANALYSIS_MEMORY_PACKING_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace hone::packing {

/// A buffer that is live in the sections from `begin` to `end`, exclusive.
struct Buffer {
  int64_t bytes; ///< a multiple of the alignment, above 0
  int32_t begin, end;
};

/// Buffers that have to be packed together. A section stands for a stretch of
/// positions at whose end buffers die and which no later one exceeds: every
/// largest set of buffers that are live at once is that of one section.
struct Component {
  std::vector<Buffer> buffers; ///< by `begin`
  std::vector<size_t> indices; ///< of the requests
  int32_t sections = 0;
  int64_t peak = 0; ///< bytes of the fullest section
};

/// One offset for each buffer.
struct Layout {
  std::vector<int64_t> offsets;
  int64_t bytes = 0; ///< end of the highest; INT64_MAX: no layout was found
  bool isStopped = false; ///< not all orders were tried
};

/// The orders in which buffers are placed, or preferred by the search.
enum class Order {
  Size,
  SizeThenLifetime,
  Area,
  Lifetime,
  Pressure, ///< by the fullest section that the buffer is live in
  First,
  Last
};

/// Buffers in the order, the first to place first; ties by request.
std::vector<int32_t> sortBuffers(const Component &component, Order order);

/// Places buffers one after the other in several orders, each buffer as low as
/// it goes, and keeps the best; stops at `target` bytes, and after the order in
/// which `maxScanned` neighbours have been looked at.
Layout packGreedily(const Component &component, int64_t target,
                    int64_t maxScanned);

/// What a search of a component found out.
struct SearchResult {
  int64_t lowerBound = 0; ///< no layout has fewer bytes
  int64_t nodes = 0;      ///< decisions that were tried
  bool metNodes = false;  ///< more of them could have found a better layout
  bool metPairs = false;  ///< nothing was tried: the tables would be too large
};

/// Looks for a better layout than `best`, down to `target` bytes, in at most
/// `maxNodes` decisions, and puts what it finds there. Nothing is tried where
/// more than `maxPairs` pairs of buffers live at once.
SearchResult improveBySearch(const Component &component, int64_t target,
                             int64_t maxNodes, int64_t maxPairs, Layout &best);

} // namespace hone::packing

#endif // HONE_LIB_ANALYSIS_MEMORY_PACKING_H
