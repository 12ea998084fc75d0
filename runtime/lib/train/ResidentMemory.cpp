//===- ResidentMemory.cpp - What the process occupies ---------------------===//

#include "train/ResidentMemory.h"

#include <cstdio>

int64_t honert::peakResidentBytes() {
  // Not getrusage(): a process inherits that maximum from the one it was
  // started by.
  std::FILE *file = std::fopen("/proc/self/status", "re");
  if (!file)
    return 0;
  long long kilobytes = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "VmHWM: %lld kB", &kilobytes) == 1)
      break;
  std::fclose(file);
  return kilobytes * 1024;
}
