//===- Memory.cpp - What device code may touch, and who did ---------------===//

#include "emulation/kernels/Memory.h"

#include <limits>

using namespace honert::emulator;

// Agents that are no thread's number plus one.
constexpr uint32_t several = std::numeric_limits<uint32_t>::max();
constexpr uint32_t atomics = several - 1;
// An epoch of writes that have not ended.
constexpr uint32_t underWay = std::numeric_limits<uint32_t>::max();

void Memory::add(uintptr_t address, size_t bytes, Kind kind) {
  regions[address] = {address, bytes, kind, nullptr};
  latest = nullptr;
}

void Memory::remove(uintptr_t address) {
  regions.erase(address);
  latest = nullptr;
}

void Memory::beginLaunch(bool races) {
  // Long before epochs start over, forget what they were for.
  if (now > std::numeric_limits<uint32_t>::max() / 2) {
    for (auto &[begin, region] : regions)
      region.cells.reset();
    now = 0;
  }
  globalRaces = races;
  launchStart = ++now;
}

Memory::Region *Memory::find(uintptr_t address) {
  auto isIn = [&](const Region &region) {
    return address >= region.begin && address - region.begin < region.bytes;
  };
  if (latest && isIn(*latest))
    return latest;
  auto next = regions.upper_bound(address);
  if (next == regions.begin() || !isIn(std::prev(next)->second))
    return nullptr;
  return latest = &std::prev(next)->second;
}

bool Memory::isEarlierBlock(const Region &region, uint32_t epoch) const {
  return region.kind != Kind::Shared && epoch >= launchStart &&
         epoch < blockStart;
}

bool Memory::conflicts(const Region &region, uint32_t epoch, uint32_t agent,
                       uint32_t self) const {
  if (isEarlierBlock(region, epoch))
    return true;
  return epoch == now && agent != self;
}

const char *Memory::note(const Region &region, Cell &cell,
                         const Access &access) {
  static const char *const race = ", a race with another thread at byte ";
  if (cell.written == underWay)
    return ", into which a copy goes on, at byte ";
  uint32_t self = access.thread + 1;
  bool isAtomicTwice = access.isAtomic && cell.writer == atomics;
  if (!isAtomicTwice && conflicts(region, cell.written, cell.writer, self))
    return race;
  if (access.writes) {
    bool isReadByAtomics = access.isAtomic && cell.reader == atomics;
    if (!isReadByAtomics && conflicts(region, cell.read, cell.reader, self))
      return race;
    if (cell.readAsConstant >= launchStart)
      return ", what the launch read as constant, at byte ";
    cell.written = now;
    cell.writer = access.isAtomic ? atomics : self;
    return nullptr;
  }
  if (access.isConstant) {
    if (cell.written >= launchStart)
      return ", as constant what the launch wrote, at byte ";
    cell.readAsConstant = now;
  }
  // A reader in an earlier block conflicts with any later writer: it stays. One
  // that is atomic does not conflict with atomic writers.
  uint32_t reader = access.isAtomic ? atomics : self;
  if (isEarlierBlock(region, cell.read) &&
      (cell.reader != atomics || reader == atomics))
    return nullptr;
  cell.reader = cell.read == now && cell.reader != reader ? several : reader;
  cell.read = now;
  return nullptr;
}

static std::string describe(const Access &access) {
  return std::string(access.writes ? "writes " : "reads ") +
         std::to_string(access.bytes) + " bytes ";
}

std::string Memory::describeMiss(const Access &access) {
  auto next = regions.upper_bound(access.address);
  if (next == regions.begin())
    return describe(access) + "below all known memory";
  const Region &region = std::prev(next)->second;
  return describe(access) + "at byte " +
         std::to_string(access.address - region.begin) + " of " +
         std::to_string(region.bytes) + " bytes of " +
         (region.kind == Kind::Shared ? "shared" : "global") + " memory";
}

std::string Memory::check(const Access &access) {
  Region *region = find(access.address);
  if (!region || access.bytes > region->begin + region->bytes - access.address)
    return describeMiss(access);
  size_t offset = access.address - region->begin;
  bool isShared = region->kind == Kind::Shared;
  auto complain = [&](const std::string &what) {
    return describe(access) + "at byte " + std::to_string(offset) + " of " +
           (isShared ? "shared" : "global") + " memory" + what;
  };
  if (access.isShared && !isShared)
    return complain(" as shared memory");
  if (access.address % access.alignment != 0)
    return complain(", expected an address aligned to " +
                    std::to_string(access.alignment));
  if (access.writes && region->kind == Kind::Constant)
    return complain(", which is constant");
  if (!isShared && !globalRaces)
    return "";
  if (!region->cells) {
    region->cells.reset(
        static_cast<Cell *>(std::calloc(region->bytes, sizeof(Cell))));
    if (!region->cells)
      return complain(", and there is no memory to look for races with");
  }
  for (size_t i = 0; i < access.bytes; ++i)
    if (const char *wrong =
            note(*region, region->cells.get()[offset + i], access))
      return complain(wrong + std::to_string(offset + i));
  return "";
}

Memory::Cell *Memory::cellsOf(const Access &access) {
  Region *region = find(access.address);
  bool hasCells = region && region->cells;
  return hasCells ? region->cells.get() + (access.address - region->begin)
                  : nullptr;
}

std::string Memory::beginCopy(const Access &access) {
  std::string wrong = check(access);
  Cell *cells = wrong.empty() ? cellsOf(access) : nullptr;
  for (size_t i = 0; cells && i < access.bytes; ++i)
    cells[i].written = underWay;
  return wrong;
}

std::string Memory::endCopy(const Access &access) {
  Cell *cells = cellsOf(access);
  for (size_t i = 0; cells && i < access.bytes; ++i)
    cells[i].written = 0;
  return check(access);
}
