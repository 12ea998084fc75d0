//===- Plan.cpp - Offsets for buffers with lifetimes ----------------------===//

#include "hone/Analysis/Memory/Plan.h"

#include "Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <optional>
#include <tuple>
#include <vector>

using namespace hone;
using packing::Component;
using packing::Layout;

static constexpr int64_t tooLarge = std::numeric_limits<int64_t>::max();

/// The bytes of a request rounded up; at most `tooLarge`.
static int64_t alignedBytes(const BufferRequest &request, int64_t alignment) {
  if (request.bytes > tooLarge - alignment)
    return tooLarge;
  return llvm::alignTo(request.bytes, alignment);
}

namespace {
/// A buffer begins or ends to be live.
struct Event {
  int64_t position;
  bool ends; // after what begins at the position: lifetimes are closed
  size_t index;

  bool operator<(const Event &other) const {
    return std::tie(position, ends, index) <
           std::tie(other.position, other.ends, other.index);
  }
};
} // namespace

/// The parts of the requests that share no position, empty buffers left out.
/// Nothing if some position has too many live bytes.
static std::optional<std::vector<Component>>
findComponents(llvm::ArrayRef<BufferRequest> requests, int64_t alignment) {
  std::vector<Event> events;
  for (auto [index, request] : llvm::enumerate(requests)) {
    assert(request.first <= request.last && request.bytes >= 0);
    if (request.bytes == 0)
      continue;
    events.push_back({request.first, false, index});
    events.push_back({request.last, true, index});
  }
  llvm::sort(events);
  std::vector<Component> components;
  std::vector<int32_t> numberOf(requests.size());
  int64_t live = 0, open = 0;
  bool grew = false; // since the last section
  for (const Event &event : events) {
    int64_t bytes = alignedBytes(requests[event.index], alignment);
    if (open == 0)
      components.emplace_back();
    Component &component = components.back();
    if (event.ends) {
      component.sections += grew;
      grew = false;
      component.buffers[numberOf[event.index]].end = component.sections;
      live -= bytes;
      --open;
      continue;
    }
    if (llvm::AddOverflow(live, bytes, live) || live == tooLarge)
      return std::nullopt;
    numberOf[event.index] = component.buffers.size();
    component.buffers.push_back({bytes, component.sections, 0});
    component.indices.push_back(event.index);
    component.peak = std::max(component.peak, live);
    grew = true;
    ++open;
  }
  return components;
}

int64_t hone::peakLiveBytes(llvm::ArrayRef<BufferRequest> requests,
                            int64_t alignment) {
  std::optional<std::vector<Component>> components =
      findComponents(requests, alignment);
  if (!components)
    return tooLarge;
  int64_t peak = 0;
  for (const Component &component : *components)
    peak = std::max(peak, component.peak);
  return peak;
}

Packing hone::packBuffers(llvm::ArrayRef<BufferRequest> requests,
                          int64_t alignment, const PackingLimits &limits) {
  Packing packing;
  packing.offsets.assign(requests.size(), 0);
  std::optional<std::vector<Component>> components =
      findComponents(requests, alignment);
  if (!components) {
    packing.bytes = packing.lowerBound = tooLarge;
    return packing;
  }
  // The fullest first: no other needs to be packed tighter than that one.
  llvm::sort(*components, [](const Component &a, const Component &b) {
    return a.peak != b.peak ? a.peak > b.peak : a.indices[0] < b.indices[0];
  });
  for (const Component &component : *components) {
    packing.lowerBound = std::max(packing.lowerBound, component.peak);
    int64_t target =
        std::max({limits.target, packing.lowerBound, packing.bytes});
    Layout layout = packing::packGreedily(component, target, limits.maxScanned);
    bool hasFewerOrders = layout.isStopped;
    bool mayImprove = layout.bytes > target;
    if (mayImprove && packing.nodes < limits.maxNodes) {
      packing::SearchResult result = packing::improveBySearch(
          component, target, limits.maxNodes - packing.nodes, limits.maxPairs,
          layout);
      packing.lowerBound = std::max(packing.lowerBound, result.lowerBound);
      packing.nodes += result.nodes;
      packing.metNodes |= result.metNodes;
      packing.metPairs |= result.metPairs;
    } else if (mayImprove && limits.maxNodes != 0) {
      packing.metNodes = true; // the components before took them
    }
    packing.metScanned |=
        hasFewerOrders && layout.bytes > std::max(target, packing.lowerBound);
    packing.bytes = std::max(packing.bytes, layout.bytes);
    for (auto [index, offset] : llvm::zip(component.indices, layout.offsets))
      packing.offsets[index] = offset;
  }
  return packing;
}
