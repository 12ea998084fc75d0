//===- MappedRanges.cpp - Mapped files that change while they are read ----===//

#include "base/MappedRanges.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

namespace {
struct Range {
  // What a signal handler reads, so without a lock: `begin` is written last and
  // cleared first.
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> bytes{0};
  // Guarded by `mutex`.
  std::string path;
  int descriptor = -1;
  int64_t modified = 0;
};
} // namespace

constexpr int slots = 4096; // files of a run, shards of its data among them
static Range ranges[slots];
static std::mutex mutex;

static std::atomic<int> brokenSlot{-1}; // the first
static std::atomic<uintptr_t> brokenOffset{0};

/// Nanoseconds since 1970.
static int64_t modificationTime(const struct stat &facts) {
  return facts.st_mtim.tv_sec * int64_t{1000000000} + facts.st_mtim.tv_nsec;
}

int mapped_ranges::add(const char *begin, int64_t bytes,
                       const std::string &path, int descriptor) {
  std::lock_guard<std::mutex> lock(mutex);
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0)
    return -1;
  for (int slot = 0; slot != slots; ++slot) {
    Range &range = ranges[slot];
    // The name of a broken file is still to be told.
    if (range.begin != 0 || slot == brokenSlot)
      continue;
    range.path = path;
    range.descriptor = descriptor;
    range.modified = modificationTime(facts);
    range.bytes = static_cast<uintptr_t>(bytes);
    range.begin = reinterpret_cast<uintptr_t>(begin);
    return slot;
  }
  return -1;
}

void mapped_ranges::remove(int slot) {
  std::lock_guard<std::mutex> lock(mutex);
  if (slot >= 0)
    ranges[slot].begin = 0;
}

bool mapped_ranges::replaceBroken(void *address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  for (int slot = 0; slot != slots; ++slot) {
    uintptr_t begin = ranges[slot].begin, bytes = ranges[slot].bytes;
    if (begin == 0 || at < begin || at - begin >= bytes)
      continue;
    auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uintptr_t from = at / page * page;
    constexpr int flags =
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    if (mmap(reinterpret_cast<void *>(from), begin + bytes - from, PROT_READ,
             flags, -1, 0) == MAP_FAILED)
      return false;
    int none = -1;
    if (brokenSlot.compare_exchange_strong(none, slot))
      brokenOffset = from - begin;
    return true;
  }
  return false;
}

/// Whether the file is still what was mapped.
static Status checkFile(const Range &range) {
  const char *path = range.path.c_str();
  struct stat facts;
  if (fstat(range.descriptor, &facts) != 0)
    return Status::error(
        format("%s: cannot be read any more: %s", path, std::strerror(errno)));
  auto bytes = static_cast<long long>(range.bytes);
  if (facts.st_size != bytes)
    return Status::error(
        format("%s: has changed from %lld to %lld bytes while it was in use",
               path, bytes, static_cast<long long>(facts.st_size)));
  if (modificationTime(facts) != range.modified)
    return Status::error(
        format("%s: was written to while it was in use", path));
  return Status();
}

Status mapped_ranges::check() {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Range &range : ranges)
    if (range.begin != 0)
      HONERT_TRY(checkFile(range));
  if (int slot = brokenSlot; slot >= 0)
    return Status::error(format(
        "%s: cannot be read any more from byte %zu on: it was cut while "
        "it was in use, or its disk has failed",
        ranges[slot].path.c_str(), static_cast<size_t>(brokenOffset.load())));
  return Status();
}
