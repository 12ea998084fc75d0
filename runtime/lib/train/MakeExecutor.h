//===- MakeExecutor.h - Which machine runs a program ------------*- C++ -*-===//

#ifndef HONERT_TRAIN_MAKEEXECUTOR_H
#define HONERT_TRAIN_MAKEEXECUTOR_H

#include "exec/Executor.h"

namespace honert {

/// The executor of the program's target. With `deterministic`, equal runs on
/// equal machines give equal bits. `world` has a process for each rank of the
/// program and outlives the executor; null: this process alone.
std::unique_ptr<Executor> makeExecutor(const Program &program,
                                       const ThreadPool &pool,
                                       bool deterministic = false,
                                       ProcessGroup *world = nullptr);

} // namespace honert

#endif // HONERT_TRAIN_MAKEEXECUTOR_H
