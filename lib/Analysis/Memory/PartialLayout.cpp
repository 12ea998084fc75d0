//===- PartialLayout.cpp - Some buffers placed, and what follows ----------===//

#include "PartialLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>
#include <tuple>

using namespace hone;
using namespace hone::packing;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

PartialLayout::PartialLayout(const Component &component)
    : component(component) {
  findNeighbours();
  findTwins();
  failures.assign(component.sections, 0);
}

void PartialLayout::findNeighbours() {
  memberBegin.assign(component.sections + 1, 0);
  for (const Buffer &buffer : component.buffers)
    for (int32_t section = buffer.begin; section != buffer.end; ++section)
      ++memberBegin[section + 1];
  std::partial_sum(memberBegin.begin(), memberBegin.end(), memberBegin.begin());
  members.resize(memberBegin.back());
  std::vector<int32_t> next(memberBegin.begin(), memberBegin.end() - 1);
  int32_t count = component.buffers.size();
  for (int32_t index = 0; index != count; ++index)
    for (int32_t section = buffer(index).begin; section != buffer(index).end;
         ++section)
      members[next[section]++] = index;
  for (int32_t index = 0; index != count; ++index) {
    neighbourBegin.push_back(neighbours.size());
    // Those that are live when it begins, then those that begin later.
    for (int32_t other : liveIn(buffer(index).begin))
      if (other != index)
        neighbours.push_back(other);
    for (int32_t section = buffer(index).begin + 1;
         section != buffer(index).end; ++section)
      for (int32_t other : liveIn(section))
        if (buffer(other).begin == section)
          neighbours.push_back(other);
  }
  neighbourBegin.push_back(neighbours.size());
}

void PartialLayout::findTwins() {
  auto keyOf = [&](int32_t index) {
    const Buffer &own = buffer(index);
    return std::make_tuple(own.begin, own.end, own.bytes, index);
  };
  std::vector<int32_t> order(component.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int32_t a, int32_t b) { return keyOf(a) < keyOf(b); });
  twin.assign(order.size(), -1);
  for (size_t i = 1; i < order.size(); ++i) {
    const Buffer &one = buffer(order[i - 1]), &next = buffer(order[i]);
    if (one.begin == next.begin && one.end == next.end &&
        one.bytes == next.bytes)
      twin[order[i - 1]] = order[i];
  }
}

//===----------------------------------------------------------------------===//
// What follows from a decision
//===----------------------------------------------------------------------===//

void PartialLayout::touch(int32_t section) {
  if (sections[section].dirty)
    return;
  sections[section].dirty = true;
  dirty.push_back(section);
}

/// The buffer lies at `offset` or above; `onTop`: a placed buffer ends there.
bool PartialLayout::raise(int32_t index, int64_t offset, bool onTop) {
  if (offset < least[index] ||
      (offset == least[index] && (!onTop || stands[index])))
    return true;
  const Buffer &own = buffer(index);
  if (offset > capacity - own.bytes)
    return false;
  int64_t old = least[index];
  changes.push_back({index, bool(stands[index]), old});
  stands[index] = onTop;
  if (offset == old)
    return true;
  least[index] = offset;
  numVisits += own.end - own.begin;
  for (int32_t number = own.begin; number != own.end; ++number) {
    const Section &section = sections[number];
    // It could be the lowest there, and that is what counted.
    if (old <= latest(section) &&
        (old == section.floor || old + own.bytes == section.firstTop ||
         offset > latest(section)))
      touch(number);
  }
  return twin[index] < 0 || raise(twin[index], offset + own.bytes, false);
}

/// Concludes what a section says of the buffers in it.
bool PartialLayout::refresh(int32_t number) {
  Section &section = sections[number];
  llvm::ArrayRef<int32_t> live = liveIn(number);
  if (section.unplaced == 0)
    return true;
  numVisits += live.size();
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t floor = none, firstTop = none;
  for (int32_t index : live) {
    if (placed[index])
      continue;
    floor = std::min(floor, least[index]);
    if (least[index] <= latest(section))
      firstTop = std::min(firstTop, least[index] + buffer(index).bytes);
  }
  if (floor != section.floor || firstTop != section.firstTop)
    conclusions.push_back({number, section.floor, section.firstTop});
  section.floor = floor;
  section.firstTop = firstTop;
  if (floor > latest(section))
    return false; // what is left does not fit above the floor
  // Whatever cannot be the lowest lies on something that can.
  for (int32_t index : live)
    if (!placed[index] && least[index] > latest(section) &&
        !raise(index, firstTop, false))
      return false;
  return true;
}

/// Follows up every section that was touched, unless something already failed.
bool PartialLayout::propagate(bool fits) {
  while (!dirty.empty()) {
    int32_t number = dirty.back();
    dirty.pop_back();
    sections[number].dirty = false;
    if (fits && !refresh(number)) {
      fits = false;
      ++failures[number];
    }
  }
  return fits;
}

bool PartialLayout::start(int64_t newCapacity) {
  capacity = newCapacity;
  int32_t count = component.buffers.size();
  least.assign(count, 0);
  stands.assign(count, true);
  placed.assign(count, false);
  sections.assign(component.sections, Section());
  placedOrder.clear();
  changes.clear();
  conclusions.clear();
  numVisits += members.size();
  for (const Buffer &buffer : component.buffers)
    for (int32_t number = buffer.begin; number != buffer.end; ++number) {
      sections[number].rest += buffer.bytes;
      ++sections[number].unplaced;
      sections[number].crossing += number + 1 != buffer.end;
    }
  for (int32_t number = 0; number != component.sections; ++number)
    touch(number);
  bool fits = true;
  for (int32_t index = 0; index != count; ++index)
    if (twin[index] >= 0)
      fits = fits && raise(twin[index], least[index] + buffer(index).bytes,
                           /*onTop=*/false);
  return propagate(fits);
}

bool PartialLayout::place(int32_t index) {
  const Buffer &own = buffer(index);
  placed[index] = true;
  placedOrder.push_back(index);
  for (int32_t number = own.begin; number != own.end; ++number) {
    Section &section = sections[number];
    section.rest -= own.bytes;
    --section.unplaced;
    section.crossing -= number + 1 != own.end;
    touch(number);
  }
  bool fits = true;
  numVisits += neighboursOf(index).size();
  for (int32_t other : neighboursOf(index))
    fits =
        fits && (placed[other] || raise(other, least[index] + own.bytes, true));
  return propagate(fits);
}

bool PartialLayout::postpone(int32_t index) {
  int64_t top = std::numeric_limits<int64_t>::max();
  for (int32_t other : neighboursOf(index))
    if (!placed[other])
      top = std::min(top, least[other] + buffer(other).bytes);
  if (top > capacity)
    return false;
  bool fits = raise(index, top, false);
  return propagate(fits);
}

void PartialLayout::undo(Mark mark) {
  while (changes.size() != mark.changes) {
    const Change &change = changes.back();
    least[change.buffer] = change.least;
    stands[change.buffer] = change.stands;
    changes.pop_back();
  }
  while (conclusions.size() != mark.conclusions) {
    const Conclusion &conclusion = conclusions.back();
    sections[conclusion.section].floor = conclusion.floor;
    sections[conclusion.section].firstTop = conclusion.firstTop;
    conclusions.pop_back();
  }
  while (placedOrder.size() != mark.placed) {
    int32_t index = placedOrder.back();
    placedOrder.pop_back();
    placed[index] = false;
    const Buffer &own = buffer(index);
    for (int32_t number = own.begin; number != own.end; ++number) {
      Section &section = sections[number];
      section.rest += own.bytes;
      ++section.unplaced;
      section.crossing += number + 1 != own.end;
    }
  }
}
