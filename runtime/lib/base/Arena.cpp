//===- Arena.cpp - The one block of memory a program runs in --------------===//

#include "base/Arena.h"
#include "base/Types.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace honert;

constexpr int64_t hugePage = 2 << 20;

Arena::~Arena() {
  if (mapping)
    munmap(mapping, static_cast<size_t>(mappedBytes));
}

Status Arena::allocate(int64_t bytes, const char *what) {
  int64_t physical =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // The kernel grants more than there is and kills the process later: refuse
  // here, where it can still be said.
  if (bytes > physical || bytes > INT64_MAX - 2 * hugePage)
    return Status::error(format("%s needs %s; this machine has %s of memory",
                                what, formatBytes(bytes).c_str(),
                                formatBytes(physical).c_str()));
  HONERT_TRY(map(bytes, what));
  HONERT_TRY(mapFile(what));
  // A wish: without huge pages everything works, more slowly.
  (void)madvise(base, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return Status();
}

void Arena::placeBehind(int64_t offset, int64_t bytes) {
  behindOffset = offset;
  behindBytes = bytes;
}

void Arena::placeFile(int from, int64_t offset, int64_t bytes) {
  file = from;
  placeBehind(offset, bytes);
}

/// Puts the file in place of the addresses that map() has reserved for it.
Status Arena::mapFile(const char *what) {
  if (file < 0)
    return Status();
  void *mapped = mmap(base + behindOffset, static_cast<size_t>(behindBytes),
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  if (mapped != MAP_FAILED)
    return Status();
  return Status::error(format("%s needs %s of a file, which cannot be mapped: "
                              "%s",
                              what, formatBytes(behindBytes).c_str(),
                              std::strerror(errno)));
}

void Arena::pass(int64_t offset, int64_t bytes) const {
  auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  int64_t begin = std::max(offset, behindOffset) / page * page;
  int64_t end = std::min(offset + bytes, behindOffset + behindBytes);
  if (file >= 0 && begin < end)
    (void)madvise(base + begin, static_cast<size_t>(end - begin),
                  MADV_DONTNEED);
}

Status Arena::reserve(int64_t bytes, const char *what) {
  if (bytes > INT64_MAX - 2 * hugePage)
    return Status::error(format("%s needs %s, more than an address space holds",
                                what, formatBytes(bytes).c_str()));
  return map(bytes, what);
}

Status Arena::map(int64_t bytes, const char *what) {
  int64_t needed = std::max(bytes, behindOffset + behindBytes);
  mappedBytes = (needed + hugePage - 1) / hugePage * hugePage + hugePage;
  void *memory =
      mmap(nullptr, static_cast<size_t>(mappedBytes), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Status::error(format("%s needs %s, which cannot be reserved: %s",
                                what, formatBytes(needed).c_str(),
                                std::strerror(errno)));
  mapping = memory;
  auto address = reinterpret_cast<uintptr_t>(memory);
  uintptr_t aligned = (address + hugePage - 1) / hugePage * hugePage;
  base = static_cast<char *>(memory) + (aligned - address);
  size = bytes;
  return Status();
}

void Arena::keepFromChildren() {
  // A wish: where it is not granted, children cost memory.
  (void)madvise(mapping, static_cast<size_t>(mappedBytes), MADV_DONTFORK);
}

void Arena::release(int64_t offset, int64_t bytes) {
  auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  int64_t begin = (offset + page - 1) / page * page;
  int64_t end = (offset + bytes) / page * page;
  if (begin < end)
    (void)madvise(base + begin, static_cast<size_t>(end - begin),
                  MADV_DONTNEED);
}
