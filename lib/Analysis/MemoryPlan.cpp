//===- MemoryPlan.cpp - Offsets for buffers with lifetimes ----------------===//

#include "hone/Analysis/MemoryPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace hone;

static bool overlap(const BufferRequest &a, const BufferRequest &b) {
  return a.first <= b.last && b.first <= a.last;
}

Packing hone::packBuffers(llvm::ArrayRef<BufferRequest> requests,
                          int64_t alignment) {
  llvm::SmallVector<size_t> order =
      llvm::to_vector(llvm::seq<size_t>(0, requests.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    if (requests[a].bytes != requests[b].bytes)
      return requests[a].bytes > requests[b].bytes;
    return a < b;
  });
  Packing packing;
  packing.offsets.assign(requests.size(), 0);
  llvm::SmallVector<size_t> placed; // by increasing offset
  for (size_t index : order) {
    int64_t bytes = llvm::alignTo(requests[index].bytes, alignment);
    int64_t offset = 0;
    for (size_t other : placed) {
      if (!overlap(requests[index], requests[other]))
        continue;
      if (offset + bytes <= packing.offsets[other])
        break; // the gap below this neighbour is wide enough
      offset = std::max(
          offset, packing.offsets[other] +
                      int64_t(llvm::alignTo(requests[other].bytes, alignment)));
    }
    packing.offsets[index] = offset;
    packing.bytes = std::max(packing.bytes, offset + bytes);
    auto position =
        llvm::upper_bound(placed, offset, [&](int64_t at, size_t b) {
          return at < packing.offsets[b];
        });
    placed.insert(position, index);
  }
  return packing;
}

int64_t hone::peakLiveBytes(llvm::ArrayRef<BufferRequest> requests,
                            int64_t alignment) {
  std::map<int64_t, int64_t> changes; // position -> change of live bytes
  for (const BufferRequest &request : requests) {
    int64_t bytes = llvm::alignTo(request.bytes, alignment);
    changes[request.first] += bytes;
    changes[request.last + 1] -= bytes;
  }
  int64_t live = 0, peak = 0;
  for (auto [position, change] : changes) {
    live += change;
    peak = std::max(peak, live);
  }
  return peak;
}
