//===- RunLength.cpp - How many steps a run has ---------------------------===//

#include "train/options/RunLength.h"
#include "io/data/TokenFile.h"

#include <cmath>

using namespace honert;

int64_t honert::tokensPerStep(const Program &program) {
  const Argument *tokens = program.input(Role::tokens);
  return tokens ? *elementCount(tokens->whole) * program.microBatches() : 0;
}

/// As many steps as `epochs` times through the stream hold whole: an epoch is
/// floor((n - 1) / (B * T)) batches of its n tokens (BatchOrder).
static Status stepsOfEpochs(const Program &program, Options &options) {
  if (options.data.empty())
    return Status::usage("--steps: given in epochs without --data, whose "
                         "tokens make an epoch");
  TokenFile file;
  HONERT_TRY(file.open(options.data));
  int64_t micro = program.microBatches();
  int64_t batches = (file.size() - 1) / (tokensPerStep(program) / micro);
  options.steps =
      static_cast<int64_t>(options.epochs * static_cast<double>(batches) /
                           static_cast<double>(micro));
  if (options.steps > 0)
    return Status();
  return Status::usage(
      format("--steps: %g epochs of %s (%lld tokens) are no whole step, "
             "expected more epochs or more tokens",
             options.epochs, options.data.c_str(),
             static_cast<long long>(file.size())));
}

Status honert::resolveSteps(const Program &program, Options &options) {
  int64_t perStep = tokensPerStep(program);
  if (options.epochs > 0 || options.tokens > 0)
    if (perStep == 0)
      return Status::usage(
          format("--%s: this program reads no token stream, expected --steps N",
                 options.tokens > 0 ? "tokens" : "steps"));
  if (options.epochs > 0)
    return stepsOfEpochs(program, options);
  if (options.tokens > 0)
    options.steps = (options.tokens - 1) / perStep + 1;
  return Status();
}
