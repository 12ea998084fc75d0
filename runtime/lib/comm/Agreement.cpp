//===- Agreement.cpp - Ranks run the same thing ---------------------------===//

#include "comm/Agreement.h"
#include "core/Fnv.h"
#include "core/Printable.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// As much of a value as an error shows.
static constexpr int64_t shownBytes = 120;

/// What a rank has sent, on one line of a terminal.
static std::string shown(const char *value) {
  std::string text(value, strnlen(value, shownBytes));
  return text.empty() ? "(none)" : printable(text);
}

/// What each rank has for a fact in which some differ.
static Status tellDifference(const SharedFact &fact, int64_t differing,
                             World &world) {
  std::vector<char> own(shownBytes), all(shownBytes * world.size());
  std::memcpy(own.data(), fact.value.data(),
              std::min<size_t>(fact.value.size(), shownBytes - 1));
  HONERT_TRY(world.allGather(own.data(), shownBytes, all.data()));
  return Status::error(format(
      "rank %lld has %s %s, rank 0 has %s; expected the same on all ranks",
      static_cast<long long>(differing), fact.name.c_str(),
      shown(all.data() + differing * shownBytes).c_str(),
      shown(all.data()).c_str()));
}

Status honert::agreeOn(const std::vector<SharedFact> &facts, World &world) {
  // Of another build a rank may know other facts: their number comes first.
  std::string names;
  for (const SharedFact &fact : facts)
    names += (names.empty() ? "" : " ") + fact.name;
  std::vector<SharedFact> known = {{"another build of the runtime:", names}};
  known.insert(known.end(), facts.begin(), facts.end());
  for (size_t first = 0; first != known.size();) {
    size_t count = first == 0 ? 1 : known.size() - 1;
    std::vector<uint64_t> own, all(count * world.size());
    for (size_t i = 0; i != count; ++i)
      own.push_back(fnv1a(known[first + i].value));
    int64_t bytes = static_cast<int64_t>(count * sizeof(uint64_t));
    HONERT_TRY(world.allGather(own.data(), bytes, all.data()));
    for (size_t i = 0; i != count; ++i)
      for (int64_t rank = 1; rank != world.size(); ++rank)
        if (all[rank * count + i] != all[i])
          return world.agree(tellDifference(known[first + i], rank, world));
    first += count;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

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
    text << division.axes << division.cuts;
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

static std::string textOf(const Program &program) {
  Text text;
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
  return text.text;
}

/// The shortest text that no other number has.
static std::string exactText(double value) {
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    text = format("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value)
      break;
  }
  return text;
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
      {"--lr", exactText(o.learningRate)},
      {"--warmup", count(o.warmup)},
      {"--schedule",
       o.schedule == ScheduleKind::cosine ? "cosine" : "constant"},
      {"--min-lr", exactText(o.minLearningRate)},
      {"--weight-decay", exactText(o.weightDecay)},
      {"--clip", exactText(o.clip)},
      {"--shuffle", flag(o.shuffle)},
      {"--deterministic", flag(o.deterministic)},
      {"--resume", flag(o.resume)},
      {"--init", o.init},
      {"--fresh", flag(o.fresh)},
      {"--save", o.save},
      {"--dump", o.dump},
      {"--checkpoint-dir", o.checkpoints},
      {"--checkpoint-every", count(o.checkpointEvery)},
      {"--val-data", flag(!o.validation.empty())},
      {"--val-input", flag(!o.validationInputs.empty())},
      {"--val-every", count(o.validateEvery)},
      {"--val-batches", count(o.validationBatches)},
      {"--check-replicas", count(o.checkReplicasEvery)},
      {"--profile", flag(!o.profile.empty())},
      {"--bench-collectives", flag(o.benchCollectives)},
  };
}
