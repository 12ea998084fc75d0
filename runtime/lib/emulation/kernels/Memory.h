//===- Memory.h - What device code may touch, and who did -------*- C++ -*-===//

#ifndef HONERT_EMULATION_KERNELS_MEMORY_H
#define HONERT_EMULATION_KERNELS_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

namespace honert::emulator {

/// One access of a thread.
struct Access {
  uintptr_t address;
  size_t bytes;
  size_t alignment; ///< that the code declares
  bool writes;
  bool isAtomic;
  bool isShared;   ///< by an instruction for shared memory
  bool isConstant; ///< by one for what nobody writes during the launch
  uint32_t thread; ///< in its block
};

/// Regions of memory, and of each byte in them who last wrote and read it. Time
/// is counted in epochs: each barrier begins one, each block and each launch.
class Memory {
public:
  enum class Kind { Global, Constant, Shared };

  /// Makes a region known. Regions do not overlap.
  void add(uintptr_t address, size_t bytes, Kind kind);
  void remove(uintptr_t address);

  /// Races in global memory are looked for from here on, or not.
  void beginLaunch(bool globalRaces);
  void beginBlock() { blockStart = ++now; }
  void barrier() { ++now; }

  /// Notes an access. Returns what is wrong with it, or "".
  std::string check(const Access &access);
  /// The same of a copy into shared memory, which writes at any time until it
  /// ends: all accesses until then are wrong.
  std::string beginCopy(const Access &access);
  std::string endCopy(const Access &access);

private:
  /// Of one byte: epochs (0: never) and threads, plus one.
  struct Cell {
    uint32_t written, read, readAsConstant;
    uint32_t writer, reader;
  };
  struct Free {
    void operator()(void *cells) const { std::free(cells); }
  };
  struct Region {
    uintptr_t begin;
    size_t bytes;
    Kind kind;
    std::unique_ptr<Cell, Free> cells; // of each byte; made when needed
  };

  Region *find(uintptr_t address);
  /// The cells of an access that was checked; null: there are none.
  Cell *cellsOf(const Access &access);
  /// Who else was at the byte at a time that nothing separates from now.
  bool conflicts(const Region &region, uint32_t epoch, uint32_t agent,
                 uint32_t self) const;
  bool isEarlierBlock(const Region &region, uint32_t epoch) const;
  /// Notes the access at one byte; returns what is wrong with it, or null.
  const char *note(const Region &region, Cell &cell, const Access &access);
  std::string describeMiss(const Access &access);

  std::map<uintptr_t, Region> regions; // by begin
  Region *latest = nullptr;            // most accesses hit it again
  uint32_t now = 0, launchStart = 0, blockStart = 0;
  bool globalRaces = false;
};

} // namespace honert::emulator

#endif // HONERT_EMULATION_KERNELS_MEMORY_H
