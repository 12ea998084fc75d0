//===- CheckMachine.cpp - Whether this machine can run a program ----------===//

#include "train/CheckMachine.h"
#include "base/Printable.h"
#include "exec/cpu/Features.h"
#include "train/Info.h"
#include "train/MemoryLimits.h"
#include "train/ThreadLimits.h"

#include <cstdio>

using namespace honert;

Status honert::checkMachine(const Program &program,
                            const LauncherEnvironment &place, int threads,
                            int64_t mappedBytes, bool trains) {
  HONERT_TRY(checkCpu(program));
  if (program.isForCuda())
    return Status();
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
