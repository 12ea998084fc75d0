//===- StageTransfers.cpp - What a stage sends and receives ---------------===//

#include "train/StageTransfers.h"

using namespace honert;

Status StageTransfers::open() {
  bool isNeeded = false;
  for (const auto *list : {&stage.stepActions, &stage.evaluateActions})
    for (const Action &action : *list)
      isNeeded |= !action.isRun();
  if (!isNeeded)
    return Status();
  channels = executor.channels();
  return channels ? Status()
                  : Status::error("the ranks of this run send each other "
                                  "nothing, expected those of mpirun");
}

/// The rank of stage `peer` with the same other coordinates.
int64_t StageTransfers::rankOf(int64_t peer) const {
  return stage.mesh.groupOf(world.rank(), stage.mesh.stageAxes())[peer];
}

Status StageTransfers::make(const Action &action) {
  Channels::End end = {action.channel, rankOf(action.peer), action.sends()};
  bool begins =
      action.kind == ActionKind::send || action.kind == ActionKind::receive;
  if (!begins)
    return channels->await(end);
  const Argument &argument = stage.arguments[action.argument];
  int64_t instance = action.micro % argument.instances;
  return channels->begin(
      end, argument.offset + instance * argument.instanceStride(),
      argument.bytes,
      format("%s '%s' of micro-batch %lld %s rank %lld", name(action.kind),
             action.what.c_str(), static_cast<long long>(action.micro),
             action.sends() ? "to" : "from", static_cast<long long>(end.peer)));
}

Status StageTransfers::progress() {
  return channels ? channels->progress() : Status();
}
