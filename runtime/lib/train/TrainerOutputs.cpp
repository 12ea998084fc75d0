//===- TrainerOutputs.cpp - What a run writes beside its log --------------===//

#include "base/MappedRanges.h"
#include "base/Signals.h"
#include "train/Dump.h"
#include "train/Profile.h"
#include "train/PublishState.h"
#include "train/ResidentMemory.h"
#include "train/ResumeCommand.h"
#include "train/Trainer.h"
#include "train/WorkingCopies.h"

#include <csignal>
#include <cstdio>

using namespace honert;

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Between steps
//===----------------------------------------------------------------------===//

/// Whether something happens after `step` that needs its state, or a quiet
/// machine.
bool Trainer::pausesAfter(int64_t step) const {
  auto isDue = [&](int64_t every) { return every > 0 && step % every == 0; };
  return (step == firstStep && !options.dump.empty()) ||
         isDue(options.checkReplicasEvery) || isDue(options.validateEvery) ||
         isDue(options.sampleEvery) || isDue(options.checkpointEvery);
}

/// What is due after `step`, the last on its way, which has finished.
Status Trainer::pause(int64_t step) {
  if (options.checkReplicasEvery > 0 && step % options.checkReplicasEvery == 0)
    HONERT_TRY(checkReplicas(step));
  if (step == firstStep && !options.dump.empty())
    HONERT_TRY(dump(step));
  if (options.validateEvery > 0 && step % options.validateEvery == 0)
    HONERT_TRY(validate(step));
  if (options.sampleEvery > 0 && step % options.sampleEvery == 0)
    HONERT_TRY(sample(step));
  bool isDue =
      options.checkpointEvery > 0 && step % options.checkpointEvery == 0;
  if (!isDue && !isBest())
    return Status();
  if (Status status = checkpoint(step); !status.ok()) {
    if (checkpoints->isLost())
      return status; // its steps are another run's now
    // Training is worth more than this checkpoint; the one before stands.
    report.warning(status.message() + "; the run goes on");
    hadTrouble = true;
    return world.agree(Status()); // what failed did not end the run
  }
  return Status();
}

/// Compares what ranks hold of the same elements, bit by bit.
Status Trainer::checkReplicas(int64_t step) {
  auto isKept = [&](const Argument &argument) {
    return argument.isState() || isRounded(program, argument);
  };
  Status fetched;
  for (const Argument &argument : program.arguments)
    if (isKept(argument) && fetched.ok())
      fetched = executor->fetch(argument.offset, argument.bytes);
  HONERT_TRY(world.agree(fetched));
  std::vector<const Argument *> state; // of all stages
  std::vector<uint64_t> own;
  for (const Argument &argument : program.whole().arguments)
    if (isKept(argument)) {
      Checksum checksum;
      if (const Argument *local = program.own(argument)) {
        checksum.add(executor->arena().at(local->offset), local->bytes);
        executor->forget(local->offset, local->bytes);
      }
      state.push_back(&argument);
      own.push_back(checksum.value());
    }
  std::vector<uint64_t> all(own.size() * static_cast<size_t>(world.size()));
  HONERT_TRY(world.allGather(own.data(),
                             static_cast<int64_t>(own.size() * sizeof own[0]),
                             all.data()));
  for (size_t i = 0; i != state.size(); ++i)
    for (int64_t rank = 0; rank != world.size(); ++rank) {
      int64_t first = firstReplica(*state[i], program.mesh, rank);
      if (all[static_cast<size_t>(rank) * own.size() + i] !=
          all[static_cast<size_t>(first) * own.size() + i])
        return Status::error(format(
            "step %lld: %s '%s' of rank %lld differs from that of rank %lld, "
            "expected equal replicas",
            static_cast<long long>(step), name(state[i]->kind),
            state[i]->fqn.c_str(), static_cast<long long>(rank),
            static_cast<long long>(first)));
    }
  return Status();
}

Status Trainer::loadValidation(int64_t index) {
  const NamedInputs &others =
      options.validationInputs.empty() ? named : validationNamed;
  Status loaded = others.load(index, executor->arena().at(0));
  if (loaded.ok() && !options.validation.empty())
    loaded = validationBatches.load(index, executor->arena().at(0));
  HONERT_TRY(mapped_ranges::check());
  return loaded;
}

/// The loss of validation batch `index`, whose inputs are in place.
Status Trainer::evaluate(int64_t index, double &loss) {
  if (program.isStage())
    return evaluateStages(index, loss);
  const Function &function = *program.function("evaluate");
  HONERT_TRY(executor->run(function));
  HONERT_TRY(executor->wait());
  dataStatus = checkIds(program, executor->arena(), function,
                        "validation batch", index, "the run ends");
  dropped.readBatch(executor->arena(), function);
  HONERT_TRY(dropped.addBatch(index, "the run ends"));
  const Result *result = program.evaluationLoss();
  loss = readScalar(result->dtype, result->offset);
  return Status();
}

Status Trainer::validate(int64_t step) {
  int64_t count = std::min(options.validationBatches,
                           options.validation.empty()
                               ? validationNamed.batchesPerEpoch()
                               : validationBatches.batchesPerEpoch());
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    dataStatus = loadValidation(i);
    HONERT_TRY(noticeReasonsToStop());
    if (stoppedBy)
      return Status(); // saving comes first
    double loss;
    HONERT_TRY(evaluate(i, loss));
    if (!dataStatus.ok()) { // on all ranks, which share what the check found
      stoppedBy = badInputs;
      return Status();
    }
    sum += loss;
  }
  lastValidation = sum / static_cast<double>(count);
  validatedStep = step;
  report.validation(step, *lastValidation);
  return Status();
}

/// Continues the prompt with the weights after `step`.
Status Trainer::sample(int64_t step) {
  std::string text = generator->prompt();
  HONERT_TRY(generator->run([&](const std::string &more) { text += more; }));
  report.sample(step, text);
  return Status();
}

int64_t Trainer::dataTokens() const {
  return options.data.empty() ? 0 : batches.tokens();
}

/// The latest validation is that of the latest step, and the best of the run.
bool Trainer::isBest() const {
  return options.keepBest && validatedStep == doneSteps &&
         (!bestValidation || *lastValidation < *bestValidation);
}

/// The checkpoint of `step` is the best.
Status Trainer::markBest(int64_t step) {
  HONERT_TRY(checkpoints->markBest(step, *lastValidation));
  bestValidation = lastValidation;
  return Status();
}

Status Trainer::checkpoint(int64_t step) {
  RunPosition position;
  position.step = step;
  position.microStep = step * program.microBatches();
  position.seed = seed;
  position.shuffle = options.shuffle;
  position.dataTokens = dataTokens();
  HONERT_TRY(world.agree(fetchState(program, *executor)));
  Status saved = checkpoints->save(position, executor->arena());
  forgetState(program, *executor);
  HONERT_TRY(saved);
  savedStep = step;
  report.checkpoint(step, checkpoints->pathOf(step));
  return isBest() ? markBest(step) : Status();
}

/// Loss and gradients of a step that has finished.
Status Trainer::dump(int64_t step) {
  return writeDump(format("%s/step%lld.safetensors", options.dump.c_str(),
                          static_cast<long long>(step)),
                   program, *executor, world);
}

//===----------------------------------------------------------------------===//
// At the end
//===----------------------------------------------------------------------===//

/// The first rank's profile.
Status Trainer::writeProfile() {
  std::string trace = chromeTrace(times, program, *executor);
  AtomicFile file;
  HONERT_TRY(file.create(options.profile));
  HONERT_TRY(file.write(trace.data(), static_cast<int64_t>(trace.size())));
  HONERT_TRY(file.commit());
  std::string table = profileTable(times, executor->graphSeconds());
  table.pop_back(); // summary() ends the line
  report.summary(table);
  return Status();
}

/// Whether a run that was resumed had no step left to do.
bool Trainer::isAlreadyComplete() const {
  return !stoppedBy && doneSteps > 0 && doneSteps < firstStep &&
         options.steps > 0;
}

std::string Trainer::summaryText() const {
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  int64_t made = doneSteps - firstStep + 1;
  std::string text;
  if (stoppedBy)
    text = format("stopped by %s after step %lld: ",
                  stoppedBy == badInputs ? "an error" : signalName(stoppedBy),
                  static_cast<long long>(doneSteps));
  else if (isAlreadyComplete())
    text =
        format("already complete: the run in %s has done step %lld, --steps "
               "is %lld: ",
               options.checkpoints.c_str(), static_cast<long long>(doneSteps),
               static_cast<long long>(options.steps));
  text += format("%lld step%s in %.1f s", static_cast<long long>(made),
                 made == 1 ? "" : "s", seconds);
  if (lastLoss)
    text += format(" | loss %.4f", *lastLoss);
  if (lastValidation)
    text += format(" | val %.4f", *lastValidation);
  text += dropped.summaryText();
  if (double median = report.medianSeconds(); median > 0) {
    text += format(" | median %.1f ms", median * 1e3);
    if (double rate = report.tokensPerSecond(median); rate > 0)
      text += format(", %.0f tok/s", rate);
  }
  if (int64_t resident = peakResidentBytes(); resident > 0)
    text += format(" | %s RAM%s", formatBytes(resident).c_str(),
                   world.size() > 1 ? " on the first rank" : "");
  return text;
}

/// The line that says how to go on where steps are left, or could be added;
/// empty for a run that has done its own.
std::string Trainer::resumeText() const {
  if (!checkpoints || stoppedBy == badInputs)
    return "";
  if (stoppedBy)
    return "\ngo on: " + resumeCommand(options, world.size());
  return isAlreadyComplete()
             ? "\ngo on: " + resumeCommand(options, world.size(), 2 * doneSteps)
             : "";
}

Status Trainer::finish() {
  if (!stoppedBy && options.validates() && validatedStep != doneSteps)
    HONERT_TRY(validate(doneSteps));
  std::string saved;
  if (!options.save.empty()) {
    HONERT_TRY(world.agree(fetchState(program, *executor)));
    HONERT_TRY(saveWeights(options.save, program, world, executor->arena(),
                           {{"step", std::to_string(doneSteps)},
                            {"seed", std::to_string(seed)},
                            {"fingerprint", program.text("fingerprint")}}));
    saved = " | saved " + options.save;
  }
  if (checkpoints && savedStep != doneSteps) {
    HONERT_TRY(checkpoint(doneSteps));
    saved += " | checkpoint in " + options.checkpoints;
  }
  if (isBest())
    HONERT_TRY(markBest(doneSteps));
  bool hasProfile = world.isFirst() && !times.empty();
  HONERT_TRY(world.agree(hasProfile ? writeProfile() : Status()));
  report.summary(summaryText() + saved + resumeText());
  if (stoppedBy == SIGPIPE && world.isFirst())
    std::fprintf(stderr,
                 "stopped after step %lld: nobody reads standard output any "
                 "more, and no file was asked for (--save, --checkpoint-dir, "
                 "--log)\n",
                 static_cast<long long>(doneSteps));
  return Status();
}
