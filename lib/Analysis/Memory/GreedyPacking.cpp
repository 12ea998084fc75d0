//===- GreedyPacking.cpp - Packing of buffers, one after the other --------===//

#include "Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace hone;
using namespace hone::packing;

static constexpr int64_t noBytes = std::numeric_limits<int64_t>::max();

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// For each buffer the bytes of the fullest section that it is live in.
static std::vector<int64_t> findPressure(const Component &component) {
  std::vector<int64_t> live(component.sections + 1, 0);
  for (const Buffer &buffer : component.buffers) {
    live[buffer.begin] += buffer.bytes;
    live[buffer.end] -= buffer.bytes;
  }
  for (int32_t section = 0; section != component.sections; ++section)
    live[section + 1] += live[section];
  // maxima[k][i] is the most in the 2^k sections from i on.
  std::vector<std::vector<int64_t>> maxima = {live};
  for (int32_t width = 1; 2 * width <= component.sections; width *= 2) {
    const std::vector<int64_t> &half = maxima.back();
    std::vector<int64_t> whole(half.size() - width);
    for (size_t i = 0; i != whole.size(); ++i)
      whole[i] = std::max(half[i], half[i + width]);
    maxima.push_back(std::move(whole));
  }
  std::vector<int64_t> pressure;
  for (const Buffer &buffer : component.buffers) {
    unsigned level = llvm::Log2_32(buffer.end - buffer.begin);
    pressure.push_back(std::max(maxima[level][buffer.begin],
                                maxima[level][buffer.end - (1 << level)]));
  }
  return pressure;
}

std::vector<int32_t> packing::sortBuffers(const Component &component,
                                          Order order) {
  const std::vector<Buffer> &buffers = component.buffers;
  std::vector<int64_t> pressure;
  if (order == Order::Pressure)
    pressure = findPressure(component);
  auto keyOf = [&](int32_t index) -> std::pair<uint64_t, uint64_t> {
    const Buffer &buffer = buffers[index];
    uint64_t bytes = buffer.bytes, lifetime = buffer.end - buffer.begin;
    switch (order) {
    case Order::Size:
      return {bytes, 0};
    case Order::SizeThenLifetime:
      return {bytes, lifetime};
    case Order::Area:
      return {llvm::SaturatingMultiply(bytes, lifetime), bytes};
    case Order::Lifetime:
      return {lifetime, bytes};
    case Order::Pressure:
      return {pressure[index], llvm::SaturatingMultiply(bytes, lifetime)};
    case Order::First:
      return {component.sections - buffer.begin, bytes};
    case Order::Last:
      return {buffer.end, bytes};
    }
    llvm_unreachable("all orders are listed");
  };
  std::vector<std::pair<uint64_t, uint64_t>> keys;
  std::vector<int32_t> sorted;
  for (int32_t index : llvm::seq<int32_t>(0, buffers.size())) {
    keys.push_back(keyOf(index));
    sorted.push_back(index);
  }
  llvm::sort(sorted, [&](int32_t a, int32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b]
                              : component.indices[a] < component.indices[b];
  });
  return sorted;
}

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

namespace {
/// The buffers that have an offset, by increasing offset, in blocks that know
/// which sections their buffers span: most blocks are passed over at once.
class PlacedBuffers {
public:
  /// The lowest offset at which the buffer meets no other.
  int64_t lowestFit(const Buffer &buffer) {
    int64_t offset = 0;
    for (const Block &block : blocks) {
      ++scanned;
      if (!meet(buffer, block.begin, block.end))
        continue;
      for (const Entry &entry : block.entries) {
        ++scanned;
        if (!meet(buffer, entry.begin, entry.end))
          continue;
        if (buffer.bytes <= entry.offset - offset)
          return offset; // the gap below this neighbour is wide enough
        offset = std::max(offset, entry.top);
      }
    }
    return offset;
  }

  void insert(const Buffer &buffer, int64_t offset, int64_t top) {
    auto block = llvm::upper_bound(
        blocks, offset, [](int64_t offset, const Block &block) {
          return offset < block.entries.front().offset;
        });
    if (block != blocks.begin())
      --block;
    else if (blocks.empty())
      block = blocks.insert(block, Block());
    auto entry = llvm::upper_bound(block->entries, offset,
                                   [](int64_t offset, const Entry &entry) {
                                     return offset < entry.offset;
                                   });
    block->entries.insert(entry, {offset, top, buffer.begin, buffer.end});
    block->cover(buffer.begin, buffer.end);
    if (block->entries.size() == maxEntries)
      split(block - blocks.begin());
  }

  int64_t scanned = 0; ///< blocks and entries looked at

private:
  struct Entry {
    int64_t offset, top;
    int32_t begin, end;
  };
  struct Block {
    std::vector<Entry> entries;
    int32_t begin = std::numeric_limits<int32_t>::max(), end = 0;

    void cover(int32_t entryBegin, int32_t entryEnd) {
      begin = std::min(begin, entryBegin);
      end = std::max(end, entryEnd);
    }
  };
  static constexpr size_t maxEntries = 128;

  static bool meet(const Buffer &buffer, int32_t begin, int32_t end) {
    return buffer.begin < end && begin < buffer.end;
  }

  void split(size_t index) {
    Block halves[2];
    std::vector<Entry> entries = std::move(blocks[index].entries);
    for (auto [number, entry] : llvm::enumerate(entries)) {
      Block &half = halves[number >= entries.size() / 2];
      half.entries.push_back(entry);
      half.cover(entry.begin, entry.end);
    }
    blocks[index] = std::move(halves[0]);
    blocks.insert(blocks.begin() + index + 1, std::move(halves[1]));
  }

  std::vector<Block> blocks; // none is empty
};
} // namespace

static Layout placeInOrder(const Component &component,
                           llvm::ArrayRef<int32_t> order, int64_t &scanned) {
  Layout layout;
  layout.offsets.assign(component.buffers.size(), 0);
  PlacedBuffers placed;
  for (int32_t index : order) {
    const Buffer &buffer = component.buffers[index];
    int64_t offset = placed.lowestFit(buffer);
    int64_t top =
        buffer.bytes <= noBytes - offset ? offset + buffer.bytes : noBytes;
    placed.insert(buffer, offset, top);
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, top);
  }
  scanned += placed.scanned;
  return layout;
}

Layout packing::packGreedily(const Component &component, int64_t target,
                             int64_t maxScanned) {
  Layout best;
  best.bytes = noBytes;
  int64_t scanned = 0;
  bool isStopped = false;
  for (Order order :
       {Order::Size, Order::SizeThenLifetime, Order::Area, Order::Lifetime,
        Order::Pressure, Order::Last, Order::First}) {
    isStopped = !best.offsets.empty() && scanned > maxScanned;
    if (isStopped)
      break;
    Layout layout =
        placeInOrder(component, sortBuffers(component, order), scanned);
    if (layout.bytes < best.bytes || best.offsets.empty())
      best = std::move(layout);
    if (best.bytes <= target)
      break;
  }
  best.isStopped = isStopped;
  return best;
}
