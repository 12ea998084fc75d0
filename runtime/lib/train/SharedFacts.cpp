//===- SharedFacts.cpp - What all ranks must be given alike ---------------===//

#include "train/SharedFacts.h"
#include "base/Fnv.h"
#include "base/Json.h"

using namespace honert;

namespace {
/// Facts of a description as one text.
class Text {
public:
  Text &operator<<(const std::string &word) {
    text += word;
    text += '\n';
    return *this;
  }
  Text &operator<<(int64_t number) { return *this << std::to_string(number); }
  Text &operator<<(const std::vector<int64_t> &numbers) {
    return *this << toString(numbers);
  }
  std::string text;
};
} // namespace

static void describe(const Argument &argument, Text &text) {
  text << name(argument.kind) << argument.fqn << name(argument.dtype)
       << argument.dims << argument.whole << argument.partial
       << argument.offset;
  for (const DimDivision &division : argument.divisions)
    text << division.axes << division.cuts
         << static_cast<int64_t>(division.isSnake);
}

/// Names tell which kernel it is; what it computes, the fingerprint.
static void describe(const Launch &launch, Text &text) {
  text << launch.name << static_cast<int64_t>(launch.action.index());
  if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
    text << name(collective->kind) << static_cast<int64_t>(collective->reduce)
         << collective->amount << name(collective->dtype) << collective->count
         << collective->axes << collective->in << collective->out
         << collective->token;
  if (auto *wait = std::get_if<WaitLaunch>(&launch.action))
    text << wait->token;
}

static void describe(const Action &action, Text &text) {
  text << name(action.kind) << action.what << action.micro << action.peer
       << action.beside;
}

static std::string textOf(const Program &program) {
  Text text;
  for (const Program &stage : program.stages)
    text << textOf(stage);
  for (const auto &[key, value] : program.meta)
    text << key << value;
  for (const auto &[key, value] : program.numbers)
    text << key << format("%.17g", value);
  text << program.arenaBytes << program.mesh.text();
  for (const Argument &argument : program.arguments)
    describe(argument, text);
  for (const Function &function : program.functions) {
    text << function.name;
    for (const Launch &launch : function.launches)
      describe(launch, text);
  }
  for (const auto *list : {&program.stepActions, &program.evaluateActions})
    for (const Action &action : *list)
      describe(action, text);
  return text.text;
}

std::vector<SharedFact> honert::sharedFacts(const Program &program,
                                            const Options &options) {
  auto count = [](int64_t value) { return std::to_string(value); };
  auto flag = [](bool value) {
    return std::string(value ? "given" : "not given");
  };
  uint64_t hash = fnv1a(textOf(program));
  const Options &o = options;
  return {
      {"the program",
       format("%s (%s, %016llx)", program.text("model", "program").c_str(),
              program.mesh.text().c_str(),
              static_cast<unsigned long long>(hash))},
      {"--steps", count(o.steps)},
      {"--seed", std::to_string(o.seed)},
      {"--lr", jsonNumber(o.learningRate)},
      {"--warmup", count(o.warmup)},
      {"--schedule", name(o.schedule)},
      {"--decay-steps", count(o.decaySteps)},
      {"--min-lr", jsonNumber(o.minLearningRate)},
      {"--weight-decay", jsonNumber(o.weightDecay)},
      {"--clip", jsonNumber(o.clip)},
      {"--shuffle", flag(o.shuffle)},
      {"--deterministic", flag(o.deterministic)},
      {"--resume", flag(o.resume)},
      {"--init", o.init},
      {"--fresh", flag(o.fresh)},
      {"--save", o.save},
      {"--dump", o.dump},
      {"--checkpoint-dir", o.checkpoints},
      {"--checkpoint-every", count(o.checkpointEvery)},
      {"--keep-best", flag(o.keepBest)},
      {"--val-data", flag(!o.validation.empty())},
      {"--val-input", flag(!o.validationInputs.empty())},
      {"--val-every", count(o.validateEvery)},
      {"--val-batches", count(o.validationBatches)},
      {"--check-replicas", count(o.checkReplicasEvery)},
      {"--profile", flag(!o.profile.empty())},
      {"--compare-launches", count(o.compareLaunches)},
      {"--smoke", flag(o.smoke)},
      {"--bench-collectives", flag(o.benchCollectives)},
  };
}
