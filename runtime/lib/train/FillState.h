//===- FillState.h - State as a fresh run starts with it --------*- C++ -*-===//

#ifndef HONERT_TRAIN_FILLSTATE_H
#define HONERT_TRAIN_FILLSTATE_H

#include "exec/Executor.h"
#include "io/checkpoint/State.h"

namespace honert {

/// Fills state and working copies as startState does, and publishes them.
/// `origin` tells where the weights come from. A process that does not train
/// has no memory behind optimizer state on a CPU.
Status fillState(const StartOptions &options, const Program &program,
                 const ProcessGroup &world, uint64_t seed,
                 const ThreadPool &pool, Executor &executor,
                 std::string &origin, bool trains = true);

} // namespace honert

#endif // HONERT_TRAIN_FILLSTATE_H
