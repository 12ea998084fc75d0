//===- StageTransfers.h - What a stage sends and receives -----------------===//

#ifndef HONERT_TRAIN_STAGETRANSFERS_H
#define HONERT_TRAIN_STAGETRANSFERS_H

#include "exec/Executor.h"
#include "program/ProcessGroup.h"

namespace honert {

/// Makes the transfers of the lists of this rank's stage.
class StageTransfers {
public:
  /// All outlive the transfers.
  StageTransfers(const Program &stage, Executor &executor, ProcessGroup &world)
      : stage(stage), executor(executor), world(world) {}

  /// Error: stages that exchange something are not processes that can.
  Status open();
  /// Begins or awaits a transfer of a list.
  Status make(const Action &action);
  /// Lets transfers move that can.
  Status progress();

private:
  int64_t rankOf(int64_t peer) const;

  const Program &stage;
  Executor &executor;
  ProcessGroup &world;
  Channels *channels = nullptr; ///< of the executor
};

} // namespace honert

#endif // HONERT_TRAIN_STAGETRANSFERS_H
