//===- CheckMachine.cpp - Whether this machine can run a program ----------===//

#include "train/CheckMachine.h"
#include "base/Printable.h"
#include "exec/cpu/Features.h"
#include "train/Info.h"
#include "train/MemoryLimits.h"
#include "train/ThreadLimits.h"

#include <cstdio>

using namespace honert;

/// Of the host's memory, a program for a GPU needs its second arena. Drivers
/// take more addresses than any limit on these knows of.
static Status checkHostArena(const Program &program,
                             const LauncherEnvironment &place) {
  MemoryLimits limits = findMemoryLimits();
  limits.addresses.clear();
  limits.data.clear();
  MemoryNeed need;
  need.touched = program.hostBytes + otherBytes;
  need.processes = place.localSize;
  std::string warning;
  Status status = checkMemory(limits, need, warning);
  if (!status.ok())
    return Status::error("the second arena: " + status.message() +
                         ", or with --host-memory=SIZE");
  if (!warning.empty() && place.localRank == 0)
    std::fprintf(stderr, "warning: %s\n", printable(warning).c_str());
  return Status();
}

Status honert::checkMachine(const Program &program,
                            const LauncherEnvironment &place, int threads,
                            int64_t mappedBytes, bool trains) {
  HONERT_TRY(checkCpu(program));
  if (program.isForCuda())
    return program.hostBytes == 0 ? Status() : checkHostArena(program, place);
  // Addresses that libraries take: their code, and more than they touch.
  constexpr int64_t libraries = 80 << 20;
  // One reads ahead, one watches other ranks.
  int helpers = place.size > 1 ? 2 : 1;
  MemoryNeed need;
  need.touched = program.arenaBytes + otherBytes;
  if (!trains) // fillState leaves it out
    for (const Argument &argument : program.arguments)
      if (argument.kind == Kind::opt && !argument.isOnHost)
        need.touched -= argument.bytes;
  need.beside = libraries + (threads - 1 + helpers) * stackBytes();
  need.beside += program.hostBytes; // a file that is mapped
  need.files = mappedBytes;
  need.processes = place.localSize;
  std::string warning;
  HONERT_TRY(checkMemory(findMemoryLimits(), need, warning));
  if (!warning.empty() && place.localRank == 0)
    std::fprintf(stderr, "warning: %s\n", printable(warning).c_str());
  return checkThreads(threads, helpers);
}
