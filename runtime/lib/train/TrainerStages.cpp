//===- TrainerStages.cpp - The lists of actions of a stage ----------------===//

#include "train/StepValues.h"
#include "train/Trainer.h"

#include <algorithm>

using namespace honert;

/// Whether the function reads inputs, which a run must find in place.
static bool readsInputs(const Program &stage, const Function &function) {
  return std::any_of(
      function.touched.begin(), function.touched.end(),
      [&](size_t i) { return stage.arguments[i].kind == Kind::input; });
}

/// Puts a step of a stage on its way, whose first inputs are in place. Sums
/// have been set to zero.
Status Trainer::launchActions(int64_t step) {
  int64_t first = (step - 1) * program.microBatches(), inPlace = 0;
  for (const Action &action : program.stepActions) {
    if (!action.isRun()) {
      HONERT_TRY(transfers->make(action));
      continue;
    }
    const Function &function = program.functions[action.function];
    if (&action == &program.stepActions.back()) {
      // The update: nothing is under way, so that all may end before it.
      HONERT_TRY(executor->flush());
      HONERT_TRY(noticeReasonsToStop());
      if (stoppedBy == badInputs)
        return Status();
    }
    // Other ranks wait for what this one does with the inputs before.
    if (readsInputs(program, function) && action.micro != inPlace &&
        dataStatus.ok()) {
      inPlace = action.micro;
      dataStatus = loadInputs(first + action.micro);
    }
    writeKey(program, executor->arena(), seed, step, action.micro);
    HONERT_TRY(executor->run(function));
    HONERT_TRY(transfers->progress());
  }
  return executor->endStep();
}

/// As evaluate() for stages: the loss of the last one comes to all.
Status Trainer::evaluateStages(int64_t index, double &loss) {
  for (const Action &action : program.evaluateActions) {
    if (!action.isRun()) {
      HONERT_TRY(transfers->make(action));
      continue;
    }
    const Function &function = program.functions[action.function];
    HONERT_TRY(executor->run(function));
    HONERT_TRY(transfers->progress());
    // The function of the next chunk writes over what this one returns.
    HONERT_TRY(executor->wait());
    if (dataStatus.ok())
      dataStatus = checkIds(program, executor->arena(), function,
                            "validation batch", index, "the run ends");
    dropped.readBatch(executor->arena(), function);
  }
  HONERT_TRY(executor->wait()); // for what is sent last
  struct Outcome {
    double loss = 0;
    bool hasLoss = false, hasBadIds = false;
  };
  Outcome own;
  HONERT_TRY(dropped.addBatch(index, "the run ends"));
  own.hasBadIds = !dataStatus.ok();
  const Result *result = program.evaluationLoss();
  own.hasLoss = result;
  if (result)
    own.loss = readScalar(result->dtype, result->offset);
  std::vector<Outcome> all(static_cast<size_t>(world.size()));
  HONERT_TRY(world.allGather(&own, sizeof own, all.data()));
  for (size_t rank = all.size(); rank-- > 0;) {
    if (all[rank].hasLoss)
      loss = all[rank].loss;
    if (all[rank].hasBadIds && dataStatus.ok())
      dataStatus = Status::error(format("rank %zu has failed", rank));
  }
  return Status();
}
