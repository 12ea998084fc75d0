//===- FillState.cpp - State as a fresh run starts with it ----------------===//

#include "train/FillState.h"
#include "train/PublishState.h"
#include "train/WorkingCopies.h"

using namespace honert;

Status honert::fillState(const StartOptions &options, const Program &program,
                         const ProcessGroup &world, uint64_t seed,
                         const ThreadPool &pool, Executor &executor,
                         std::string &origin, bool trains) {
  std::vector<const Argument *> zeros;
  HONERT_TRY(startState(options, program, world, seed, pool, executor.arena(),
                        origin, zeros));
  fillWorkingCopies(program, pool, executor.arena());
  if (trains) {
    HONERT_TRY(zeroState(executor, zeros));
  } else {
    for (const Argument &argument : program.arguments)
      if (argument.kind == Kind::opt)
        executor.arena().release(argument.offset, argument.bytes);
  }
  return publishState(program, executor, zeros);
}
