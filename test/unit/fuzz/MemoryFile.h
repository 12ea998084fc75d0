//===- MemoryFile.h - Bytes as a file that is never on a disk ---*- C++ -*-===//

#ifndef TEST_UNIT_FUZZ_MEMORYFILE_H
#define TEST_UNIT_FUZZ_MEMORYFILE_H

#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

/// A file whose content is replaced by each input.
class MemoryFile {
public:
  MemoryFile() : descriptor(memfd_create("input", 0)) {}
  ~MemoryFile() { close(descriptor); }

  /// Where a reader opens it.
  std::string fill(const uint8_t *data, size_t size) {
    bool isFull =
        ftruncate(descriptor, static_cast<off_t>(size)) == 0 &&
        pwrite(descriptor, data, size, 0) == static_cast<ssize_t>(size);
    if (!isFull)
      std::abort();
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

#endif // TEST_UNIT_FUZZ_MEMORYFILE_H
