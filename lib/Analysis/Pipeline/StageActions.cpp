//===- StageActions.cpp - Lists of what a stage runs and sends ------------===//

#include "hone/Analysis/Pipeline/StageActions.h"

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/Generate.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/IR/Hone.h"
#include "hone/Support/ParseFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cassert>
#include <deque>

using namespace hone;
using namespace hone::pipeline;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

dist::Chunk hone::pipeline::nameChunk(const Shape &shape, int number) {
  return {number, shape.chunksPerRank == 1};
}

//===----------------------------------------------------------------------===//
// Schedules of stages
//===----------------------------------------------------------------------===//

/// A schedule of a name is one line without commas. Lists have the
/// micro-batches that they say.
static Expected<Schedule> readSchedule(StringRef text, int stages,
                                       int microBatches) {
  Expected<Schedule> schedule = [&]() -> Expected<Schedule> {
    if (text.find_first_of(",\n") != StringRef::npos)
      return readCsv(text, "csv");
    Expected<ScheduleChoice> choice = parseScheduleChoice(text);
    if (!choice)
      return choice.takeError();
    return generateSchedule(*choice, stages, microBatches);
  }();
  if (schedule && schedule->shape.ranks != stages)
    return makeError("schedule '" + schedule->name + "' has " +
                     Twine(schedule->shape.ranks) +
                     " ranks (rows), one for each stage, expected " +
                     Twine(stages));
  return schedule;
}

Expected<Shape> hone::pipeline::readStageShape(StringRef text, int stages) {
  Expected<Schedule> schedule = readSchedule(text, stages, 1);
  if (!schedule)
    return schedule.takeError();
  return schedule->shape;
}

Expected<Schedule> hone::pipeline::makeStageSchedule(StringRef text, int stages,
                                                     int chunksPerStage,
                                                     int microBatches) {
  Expected<Schedule> schedule = readSchedule(text, stages, microBatches);
  if (!schedule)
    return schedule.takeError();
  const Shape &shape = schedule->shape;
  auto expect = [&](int found, const char *what, int expected) -> Error {
    if (found == expected)
      return Error::success();
    return makeError("schedule '" + schedule->name + "' has " + Twine(found) +
                     " " + what + ", expected " + Twine(expected));
  };
  if (Error error =
          expect(shape.chunksPerRank, "chunks per rank", chunksPerStage))
    return error;
  if (Error error = expect(shape.microBatches, "micro-batches", microBatches))
    return error;
  if (text.ends_with("+overlap") && !schedule->hasOverlaps())
    return makeError("schedule '" + schedule->name + "' with " +
                     Twine(microBatches) +
                     " micro-batch has no two actions that run together, "
                     "expected at least 2 micro-batches");
  if (!schedule->hasTransfers())
    schedule = placeTransfers(std::move(*schedule));
  if (std::optional<Violation> violation = checkSchedule(*schedule))
    return makeError("schedule '" + schedule->name +
                     "': " + violation->message);
  return schedule;
}

Error hone::pipeline::joinParts(Schedule &schedule, bool receivesEarly) {
  int chunk = schedule.shape.chunks() - 1;
  std::vector<Action> &list = schedule.ranks[schedule.shape.rankOf(chunk)];
  for (auto forward = list.begin(); forward != list.end(); ++forward) {
    if (forward->kind != ActionKind::Forward || forward->chunk != chunk)
      continue;
    auto next = std::find_if(forward + 1, list.end(), [](const Action &action) {
      return !isTransfer(action.kind);
    });
    assert(next != list.end() && "the schedule passes checkSchedule");
    if (!computesInputGradient(next->kind) || next->chunk != chunk ||
        next->micro != forward->micro)
      return makeError(
          "schedule '" + schedule.name + "' runs " + formatAction(*next) +
          " after " + formatAction(*forward) + ", expected " +
          formatAction({ActionKind::Backward, chunk, forward->micro}) +
          ": stage " + Twine(schedule.shape.rankOf(chunk)) +
          " runs its forward and backward part as one function, @" +
          nameChunk(schedule.shape, chunk).function("accumulate"));
    if (receivesEarly)
      std::rotate(forward, forward + 1, next);
    forward = next; // and not one behind a receive that was moved
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

StringRef hone::pipeline::functionOf(ActionKind kind, bool joinsParts) {
  switch (kind) {
  case ActionKind::Forward:
    return joinsParts ? "accumulate" : "forward";
  case ActionKind::Backward:
    return joinsParts ? "" : "backward";
  case ActionKind::BackwardInput:
    return joinsParts ? "" : "backward_input";
  case ActionKind::BackwardWeight:
    return "backward_weight";
  default:
    llvm_unreachable("a transfer runs no function");
  }
}

constexpr llvm::StringLiteral overlapPrefix = "overlap";

std::string hone::pipeline::overlapFunction(dist::Chunk forward,
                                            dist::Chunk backward) {
  if (forward.isStage)
    return overlapPrefix.str();
  return (overlapPrefix + "_" + Twine(forward.number) + "_" +
          Twine(backward.number))
      .str();
}

bool hone::pipeline::isOverlapFunction(StringRef name) {
  return name == overlapPrefix ||
         (name.consume_front(overlapPrefix) && name.starts_with("_"));
}

namespace {
using Kind = honert::ActionKind;

/// Writes the transfers of a chunk, and knows which sends are under way.
class ChunkTransfers {
public:
  ChunkTransfers(std::vector<StageAction> &list, const Shape &shape, int number,
                 const ChunkFacts &facts)
      : facts(facts), list(list), shape(shape), number(number),
        name(nameChunk(shape, number)) {}

  bool receives() const { return reaches(number - 1); }
  bool sends() const { return reaches(number + 1); }
  void passActivationIn(Kind part, int micro) {
    pass(part, name.input(), micro, number - 1);
  }
  void passActivationOut(Kind part, int micro) {
    if (part == Kind::send)
      activationsOut.push_back(micro);
    pass(part, name.output(), micro, number + 1);
  }
  void passGradientIn(Kind part, int micro) {
    pass(part, name.outputGradient(), micro, number + 1);
  }
  void passGradientOut(Kind part, int micro) {
    if (part == Kind::send)
      gradientsOut.push_back(micro);
    pass(part, name.inputGradient(), micro, number - 1);
  }
  /// Awaits the sends of micro-batches up to `upto`.
  void awaitActivationsOut(int upto) {
    for (; !activationsOut.empty() && activationsOut.front() <= upto;
         activationsOut.pop_front())
      passActivationOut(Kind::awaitSend, activationsOut.front());
  }
  void awaitGradientsOut(int upto) {
    for (; !gradientsOut.empty() && gradientsOut.front() <= upto;
         gradientsOut.pop_front())
      passGradientOut(Kind::awaitSend, gradientsOut.front());
  }
  std::string function(StringRef base) const { return name.function(base); }

  const ChunkFacts &facts;

private:
  /// Whether what passes to or from `other` is a message.
  bool reaches(int other) const {
    return shape.contains(other) && !shape.shareRank(number, other);
  }
  void pass(Kind part, const std::string &boundary, int micro, int other) {
    list.push_back(
        {part, kind::boundary.str(), boundary, micro, shape.rankOf(other)});
  }

  std::vector<StageAction> &list;
  const Shape &shape;
  int number;
  dist::Chunk name;
  std::deque<int> activationsOut, gradientsOut; ///< sends that are under way
};

class ListBuilder {
public:
  ListBuilder(const Shape &shape, int stage, const StageFacts &facts)
      : shape(shape), facts(facts) {
    assert(int(facts.chunks.size()) == shape.chunksPerRank);
    for (int index = 0; index != shape.chunksPerRank; ++index)
      chunks.emplace_back(list, shape, shape.chunkOf(stage, index),
                          facts.chunks[index]);
  }

  std::vector<StageAction> step(ArrayRef<Action> actions);
  std::vector<StageAction> evaluation();

private:
  void run(const std::string &function, int micro,
           std::optional<int> beside = std::nullopt) {
    list.push_back({Kind::run, "", function, micro, 0, beside});
  }
  // Of weights: `part` is that of the owner's or of the borrower's end.
  void passValues(ArrayRef<SharedWeight> weights, Kind part) {
    for (const SharedWeight &weight : weights)
      list.push_back({part, weight.kind, weight.name, 0, weight.peer});
  }
  void passSums(ArrayRef<SharedWeight> weights, Kind part) {
    for (const SharedWeight &weight : weights)
      for (const std::string &sum : weight.sums)
        list.push_back({part, kind::grad.str(), sum, 0, weight.peer});
  }
  /// A rank's chunks are `ranks` apart, or at both sides of a V.
  ChunkTransfers &chunkOf(const Action &action) {
    return chunks[action.chunk / shape.ranks];
  }

  void visit(const Action &action);
  void visitCompute(const Action &action);
  void visitOverlap(const Action &forward, const Action &backward);
  void awaitBefore(const Action &part);

  const Shape &shape;
  const StageFacts &facts;
  std::vector<StageAction> list;
  std::vector<ChunkTransfers> chunks;
};
} // namespace

/// What a part reads is here, and what it writes has been sent.
void ListBuilder::awaitBefore(const Action &part) {
  ChunkTransfers &chunk = chunkOf(part);
  if (std::optional<Action> receive = receiveBefore(shape, part))
    receive->kind == ActionKind::RecvActivation
        ? chunk.passActivationIn(Kind::awaitReceive, part.micro)
        : chunk.passGradientIn(Kind::awaitReceive, part.micro);
  if (std::optional<Action> send = sendAfter(shape, part))
    send->kind == ActionKind::SendActivation
        ? chunk.awaitActivationsOut(part.micro - chunk.facts.activationsOut)
        : chunk.awaitGradientsOut(part.micro - chunk.facts.gradientsOut);
}

void ListBuilder::visitCompute(const Action &action) {
  ChunkTransfers &chunk = chunkOf(action);
  StringRef function = functionOf(action.kind, chunk.facts.joinsParts);
  if (function.empty())
    return;
  awaitBefore(action);
  if (chunk.facts.joinsParts && action.kind == ActionKind::Forward)
    awaitBefore({ActionKind::Backward, action.chunk, action.micro});
  run(chunk.function(function), action.micro);
}

void ListBuilder::visitOverlap(const Action &forward, const Action &backward) {
  awaitBefore(forward);
  awaitBefore(backward);
  run(overlapFunction(nameChunk(shape, forward.chunk),
                      nameChunk(shape, backward.chunk)),
      forward.micro, backward.micro);
}

void ListBuilder::visit(const Action &action) {
  ChunkTransfers &chunk = chunkOf(action);
  switch (action.kind) {
  case ActionKind::RecvActivation:
    return chunk.passActivationIn(Kind::receive, action.micro);
  case ActionKind::RecvGradient:
    return chunk.passGradientIn(Kind::receive, action.micro);
  case ActionKind::SendActivation:
    return chunk.passActivationOut(Kind::send, action.micro);
  case ActionKind::SendGradient:
    return chunk.passGradientOut(Kind::send, action.micro);
  default:
    return visitCompute(action);
  }
}

/// Weights travel beside the first and the last runs of their stages.
std::vector<StageAction> ListBuilder::step(ArrayRef<Action> actions) {
  passValues(facts.lent, Kind::send);
  passValues(facts.borrowed, Kind::receive);
  passSums(facts.lent, Kind::receive);
  auto isCompute = [](const Action &action) {
    return !isTransfer(action.kind);
  };
  auto first = llvm::find_if(actions, isCompute);
  for (auto action = actions.begin(); action != actions.end(); ++action) {
    if (action == first)
      passValues(facts.borrowed, Kind::awaitReceive);
    if (action->overlapsNext) {
      visitOverlap(*action, action[1]);
      ++action;
    } else {
      visit(*action);
    }
  }
  passSums(facts.borrowed, Kind::send);
  int last = shape.microBatches - 1;
  for (ChunkTransfers &chunk : chunks)
    chunk.awaitActivationsOut(last);
  for (ChunkTransfers &chunk : chunks)
    chunk.awaitGradientsOut(last);
  passSums(facts.borrowed, Kind::awaitSend);
  passSums(facts.lent, Kind::awaitReceive);
  passValues(facts.lent, Kind::awaitSend);
  run("update", last);
  return std::move(list);
}

std::vector<StageAction> ListBuilder::evaluation() {
  passValues(facts.lent, Kind::send);
  passValues(facts.borrowed, Kind::receive);
  for (ChunkTransfers &chunk : chunks) {
    if (chunk.receives())
      chunk.passActivationIn(Kind::receive, 0);
    if (&chunk == &chunks.front())
      passValues(facts.borrowed, Kind::awaitReceive);
    if (chunk.receives())
      chunk.passActivationIn(Kind::awaitReceive, 0);
    run(chunk.function("evaluate"), 0);
    if (!chunk.sends())
      continue;
    chunk.passActivationOut(Kind::send, 0);
    chunk.awaitActivationsOut(0);
  }
  passValues(facts.lent, Kind::awaitSend);
  return std::move(list);
}

std::vector<StageAction> hone::pipeline::listStep(const Schedule &schedule,
                                                  int stage,
                                                  const StageFacts &facts) {
  return ListBuilder(schedule.shape, stage, facts).step(schedule.ranks[stage]);
}

std::vector<StageAction>
hone::pipeline::listEvaluation(const Shape &shape, int stage,
                               const StageFacts &facts) {
  return ListBuilder(shape, stage, facts).evaluation();
}
