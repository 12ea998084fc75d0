//===- FillState.cpp - State as a fresh run starts with it ----------------===//

#include "train/FillState.h"
#include "train/PublishState.h"
#include "train/WorkingCopies.h"

using namespace honert;

Status honert::fillState(const StartOptions &options, const Program &program,
                         const ProcessGroup &world, uint64_t seed,
                         const ThreadPool &pool, Executor &executor,
                         std::string &origin) {
  std::vector<const Argument *> zeros;
  HONERT_TRY(startState(options, program, world, seed, pool, executor.arena(),
                        origin, zeros));
  fillWorkingCopies(program, pool, executor.arena());
  return publishState(program, executor, zeros);
}
