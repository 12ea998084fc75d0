//===- RunLength.cpp - How many steps a run has ---------------------------===//

#include "train/options/RunLength.h"
#include "io/data/TokenStream.h"

#include <algorithm>
#include <cmath>

using namespace honert;

int64_t honert::tokensPerStep(const Program &program) {
  const Argument *tokens = program.input(Role::tokens);
  return tokens ? *elementCount(tokens->whole) * program.microBatches() : 0;
}

/// Sources with weights end at different times: says which number reads as many
/// tokens as `epochs` times through all of them.
static Status refuseEpochs(const Program &program, const Options &options) {
  double tokens = 0;
  for (const TokenSource &source : options.sources) {
    TokenStream stream;
    HONERT_TRY(stream.open(source.files));
    tokens += static_cast<double>(stream.size());
  }
  double all = std::max(1.0, options.epochs * tokens);
  double steps = std::ceil(all / static_cast<double>(tokensPerStep(program)));
  return Status::usage(format(
      "--steps: given in epochs, of which each weighted --data has its own; "
      "expected a number of steps, or of --tokens: %g times all %.0f tokens "
      "are --steps %.0f or --tokens %.0f",
      options.epochs, tokens, steps, all));
}

/// As many steps as `epochs` times through the stream hold whole: an epoch is
/// floor((n - 1) / (B * T)) batches of its n tokens (BatchOrder).
static Status stepsOfEpochs(const Program &program, Options &options) {
  if (options.data.empty())
    return Status::usage("--steps: given in epochs without --data, whose "
                         "tokens make an epoch");
  if (options.mixesSources())
    return refuseEpochs(program, options);
  const TokenSource &source = options.sources.front();
  TokenStream file;
  HONERT_TRY(file.open(source.files));
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
             options.epochs, source.name().c_str(),
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
