//===- TrainerOutputs.cpp - What a run writes beside its log --------------===//

#include "core/Profile.h"
#include "core/ResidentMemory.h"
#include "core/Signals.h"
#include "core/Trainer.h"

#include <cstdio>
#include <set>

using namespace honert;

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Between steps
//===----------------------------------------------------------------------===//

/// What is due after `step`, the last on its way, which has finished.
Status Trainer::pause(int64_t step) {
  if (step == firstStep && !options.dump.empty())
    HONERT_TRY(dump(step));
  if (options.validateEvery > 0 && step % options.validateEvery == 0)
    HONERT_TRY(validate(step));
  if (options.checkpointEvery <= 0 || step % options.checkpointEvery != 0)
    return Status();
  if (Status status = checkpoint(step); !status.ok()) {
    // Training is worth more than this checkpoint; the one before stands.
    report.line("");
    std::fprintf(stderr, "warning: %s; the run goes on\n",
                 status.message().c_str());
    hadTrouble = true;
  }
  return Status();
}

Status Trainer::validate(int64_t step) {
  const Function *evaluate = program.function("evaluate");
  const Result *loss = evaluate->result("loss");
  int64_t count =
      std::min(options.validationBatches, validationBatches.batchesPerEpoch());
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (stopSignal())
      return Status(); // saving comes first
    named.load(i, executor->arena().at(0));
    validationBatches.load(i, executor->arena().at(0));
    HONERT_TRY(executor->run(*evaluate));
    HONERT_TRY(executor->wait());
    sum += readScalar(loss->dtype, loss->offset);
  }
  lastValidation = sum / static_cast<double>(count);
  validatedStep = step;
  report.validation(step, *lastValidation);
  return Status();
}

Status Trainer::checkpoint(int64_t step) {
  RunPosition position;
  position.step = step;
  position.microStep = step * program.microBatches();
  position.seed = seed;
  position.shuffle = options.shuffle;
  position.dataTokens = options.data.empty() ? 0 : batches.stream().size();
  HONERT_TRY(fetchState());
  Status saved = checkpoints->save(position, executor->arena());
  forgetState();
  HONERT_TRY(saved);
  savedStep = step;
  return Status();
}

Status Trainer::dump(int64_t step) {
  std::vector<TensorSource> tensors;
  std::set<std::string> names;
  auto add = [&](const std::string &name, DType dtype, const Shape &dims,
                 int64_t offset) {
    if (names.insert(name).second)
      tensors.push_back(
          {name, dtype, dtype, dims, executor->arena().at(offset)});
  };
  // The gradient at `offset` of the parameter `like`, part by part.
  auto addGradient = [&](const Argument &like, DType dtype, int64_t offset) {
    for (const Part &part : like.parts) {
      size_t before = tensors.size();
      add("grad." + part.name, dtype, part.shape, offset);
      if (tensors.size() != before && !like.isWhole) {
        tensors.back().storage = like.dims;
        tensors.back().offset = part.offset;
      }
    }
  };
  for (const char *name : {"step", "update"}) {
    const Function *function = program.function(name);
    for (size_t i = 0; function && i < function->results.size(); ++i) {
      const Result &result = function->results[i];
      if (result.name.rfind("grad.", 0) == 0) {
        const Argument *param =
            program.argument(Kind::param, result.name.substr(5));
        if (param && param->dims == result.dims)
          addGradient(*param, result.dtype, result.offset);
        else
          add(result.name, result.dtype, result.dims, result.offset);
      } else if (result.name == "loss" || result.name == "grad_norm") {
        add(result.name, result.dtype, result.dims, result.offset);
      }
    }
  }
  if (!program.function("step"))
    for (const Argument &argument : program.arguments) {
      if (argument.kind == Kind::grad)
        addGradient(argument, argument.dtype, argument.offset);
      else if (argument.kind == Kind::scalar && argument.fqn == "loss")
        add("loss", argument.dtype, argument.dims, argument.offset);
    }
  for (const TensorSource &tensor : tensors) {
    const Shape &whole = tensor.storage.empty() ? tensor.shape : tensor.storage;
    HONERT_TRY(executor->fetch(tensor.data - executor->arena().at(0),
                               *byteCount(tensor.dtype, whole)));
  }
  return writeSafeTensors(format("%s/step%lld.safetensors",
                                 options.dump.c_str(),
                                 static_cast<long long>(step)),
                          tensors, {{"format", "pt"}});
}

//===----------------------------------------------------------------------===//
// At the end
//===----------------------------------------------------------------------===//

Status Trainer::writeProfile() {
  std::string trace = chromeTrace(times, program, *executor);
  AtomicFile file;
  HONERT_TRY(file.create(options.profile));
  HONERT_TRY(file.write(trace.data(), static_cast<int64_t>(trace.size())));
  HONERT_TRY(file.commit());
  std::string table = profileTable(times);
  table.pop_back(); // summary() ends the line
  report.summary(table);
  return Status();
}

Status Trainer::finish() {
  if (!options.validation.empty() && validatedStep != doneSteps)
    HONERT_TRY(validate(doneSteps));
  std::string saved;
  if (!options.save.empty()) {
    HONERT_TRY(fetchState());
    HONERT_TRY(saveWeights(options.save, program, executor->arena(),
                           {{"step", std::to_string(doneSteps)},
                            {"seed", std::to_string(seed)},
                            {"fingerprint", program.text("fingerprint")}}));
    saved = " | saved " + options.save;
  }
  if (checkpoints && savedStep != doneSteps) {
    HONERT_TRY(checkpoint(doneSteps));
    saved += " | checkpoint in " + options.checkpoints;
  }
  if (!options.profile.empty() && !times.empty())
    HONERT_TRY(writeProfile());
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  int64_t made = doneSteps - firstStep + 1;
  std::string text;
  if (int signal = stopSignal())
    text = format("stopped by %s after step %lld: ", signalName(signal),
                  static_cast<long long>(doneSteps));
  text += format("%lld step%s in %.1f s", static_cast<long long>(made),
                 made == 1 ? "" : "s", seconds);
  if (lastLoss)
    text += format(" | loss %.4f", *lastLoss);
  if (lastValidation)
    text += format(" | val %.4f", *lastValidation);
  if (double median = report.medianSeconds(); median > 0) {
    text += format(" | median %.1f ms", median * 1e3);
    if (double rate = report.tokensPerSecond(median); rate > 0)
      text += format(", %.0f tok/s", rate);
  }
  if (int64_t resident = peakResidentBytes(); resident > 0)
    text += format(" | at most %s resident", formatBytes(resident).c_str());
  report.summary(text + saved);
  return Status();
}
