//===- StageActions.cpp - Lists of what a stage runs and sends ------------===//

#include "hone/Analysis/Pipeline/StageActions.h"

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/Generate.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/Sharding/IR/Dist.h"
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

std::string hone::pipeline::gradientSumName(int stage, StringRef weight) {
  return dist::stageName(stage) + "." + weight.str();
}

//===----------------------------------------------------------------------===//
// Schedules of stages
//===----------------------------------------------------------------------===//

/// A schedule of a name is one line without commas.
static Expected<Schedule> readSchedule(StringRef text, int stages,
                                       int microBatches) {
  if (text.find_first_of(",\n") != StringRef::npos)
    return readCsv(text, "csv");
  Expected<ScheduleChoice> choice = parseScheduleChoice(text);
  if (!choice)
    return choice.takeError();
  return generateSchedule(*choice, stages, microBatches);
}

Expected<Schedule> hone::pipeline::makeStageSchedule(StringRef text, int stages,
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
          expect(shape.ranks, "ranks (rows), one for each stage", stages))
    return error;
  if (Error error = expect(shape.chunksPerRank, "chunks per rank", 1))
    return error;
  if (Error error = expect(shape.microBatches, "micro-batches", microBatches))
    return error;
  if (!schedule->hasTransfers())
    schedule = placeTransfers(std::move(*schedule));
  if (std::optional<Violation> violation = checkSchedule(*schedule))
    return makeError("schedule '" + schedule->name +
                     "': " + violation->message);
  return schedule;
}

Error hone::pipeline::joinParts(Schedule &schedule, int stage,
                                bool receivesEarly) {
  std::vector<Action> &list = schedule.ranks[stage];
  for (auto forward = list.begin(); forward != list.end(); ++forward) {
    if (forward->kind != ActionKind::Forward)
      continue;
    auto next = std::find_if(forward + 1, list.end(), [](const Action &action) {
      return !isTransfer(action.kind);
    });
    assert(next != list.end() && "the schedule passes checkSchedule");
    if (!computesInputGradient(next->kind) || next->micro != forward->micro)
      return makeError(
          "schedule '" + schedule.name + "' runs " + formatAction(*next) +
          " after " + formatAction(*forward) + ", expected " +
          formatAction({ActionKind::Backward, stage, forward->micro}) +
          ": stage " + Twine(stage) +
          " runs its forward and backward part as one function, @accumulate");
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

namespace {
using Kind = honert::ActionKind;

class ListBuilder {
public:
  ListBuilder(int stage, const StageFacts &facts)
      : stage(stage), facts(facts) {}

  std::vector<StageAction> step(const Schedule &schedule);
  std::vector<StageAction> evaluation(int stages);

private:
  void run(StringRef function, int micro) {
    list.push_back({Kind::run, "", function.str(), micro, 0});
  }
  void transfer(Kind part, StringRef argumentKind, const std::string &name,
                int micro, int peer) {
    list.push_back({part, argumentKind.str(), name, micro, peer});
  }

  // Of the four boundaries of a stage.
  void passActivationIn(Kind part, int micro) {
    transfer(part, kind::boundary, dist::stageName(stage), micro, stage - 1);
  }
  void passActivationOut(Kind part, int micro) {
    transfer(part, kind::boundary, dist::stageName(stage + 1), micro,
             stage + 1);
  }
  void passGradientIn(Kind part, int micro) {
    transfer(part, kind::boundary, dist::gradientName(stage + 1), micro,
             stage + 1);
  }
  void passGradientOut(Kind part, int micro) {
    transfer(part, kind::boundary, dist::gradientName(stage), micro, stage - 1);
  }
  void awaitActivationsOut(int upto);
  void awaitGradientsOut(int upto);

  // Of weights: `part` is that of the owner's or of the borrower's end.
  void passValues(ArrayRef<SharedWeight> weights, Kind part) {
    for (const SharedWeight &weight : weights)
      transfer(part, weight.kind, weight.name, 0, weight.peer);
  }
  void passSumsIn(Kind part) {
    for (const SharedWeight &weight : facts.lent)
      transfer(part, kind::grad, gradientSumName(weight.peer, weight.name), 0,
               weight.peer);
  }
  void passSumsOut(Kind part) {
    for (const SharedWeight &weight : facts.borrowed)
      transfer(part, kind::grad, gradientSumName(stage, weight.name), 0,
               weight.peer);
  }

  void visit(const Shape &shape, const Action &action);
  void visitCompute(const Shape &shape, const Action &action);

  int stage;
  const StageFacts &facts;
  std::vector<StageAction> list;
  std::deque<int> activationsOut, gradientsOut; ///< sends that are under way
};
} // namespace

void ListBuilder::awaitActivationsOut(int upto) {
  for (; !activationsOut.empty() && activationsOut.front() <= upto;
       activationsOut.pop_front())
    passActivationOut(Kind::awaitSend, activationsOut.front());
}

void ListBuilder::awaitGradientsOut(int upto) {
  for (; !gradientsOut.empty() && gradientsOut.front() <= upto;
       gradientsOut.pop_front())
    passGradientOut(Kind::awaitSend, gradientsOut.front());
}

/// What the function reads is here, and what it writes has been sent.
void ListBuilder::visitCompute(const Shape &shape, const Action &action) {
  StringRef function = functionOf(action.kind, facts.joinsParts);
  if (function.empty())
    return;
  llvm::SmallVector<Action, 2> parts = {action};
  if (facts.joinsParts && action.kind == ActionKind::Forward)
    parts.push_back({ActionKind::Backward, action.chunk, action.micro});
  for (const Action &part : parts) {
    if (std::optional<Action> receive = receiveBefore(shape, part))
      receive->kind == ActionKind::RecvActivation
          ? passActivationIn(Kind::awaitReceive, action.micro)
          : passGradientIn(Kind::awaitReceive, action.micro);
    if (std::optional<Action> send = sendAfter(shape, part))
      send->kind == ActionKind::SendActivation
          ? awaitActivationsOut(action.micro - facts.activationsOut)
          : awaitGradientsOut(action.micro - facts.gradientsOut);
  }
  run(function, action.micro);
}

void ListBuilder::visit(const Shape &shape, const Action &action) {
  switch (action.kind) {
  case ActionKind::RecvActivation:
    return passActivationIn(Kind::receive, action.micro);
  case ActionKind::RecvGradient:
    return passGradientIn(Kind::receive, action.micro);
  case ActionKind::SendActivation:
    activationsOut.push_back(action.micro);
    return passActivationOut(Kind::send, action.micro);
  case ActionKind::SendGradient:
    gradientsOut.push_back(action.micro);
    return passGradientOut(Kind::send, action.micro);
  default:
    return visitCompute(shape, action);
  }
}

/// Weights travel beside the first and the last runs of their stages.
std::vector<StageAction> ListBuilder::step(const Schedule &schedule) {
  const std::vector<Action> &actions = schedule.ranks[stage];
  passValues(facts.lent, Kind::send);
  passValues(facts.borrowed, Kind::receive);
  passSumsIn(Kind::receive);
  auto isCompute = [](const Action &action) {
    return !isTransfer(action.kind);
  };
  auto first = llvm::find_if(actions, isCompute);
  for (auto action = actions.begin(); action != actions.end(); ++action) {
    if (action == first)
      passValues(facts.borrowed, Kind::awaitReceive);
    visit(schedule.shape, *action);
  }
  passSumsOut(Kind::send);
  int last = schedule.shape.microBatches - 1;
  awaitActivationsOut(last);
  awaitGradientsOut(last);
  passSumsOut(Kind::awaitSend);
  passSumsIn(Kind::awaitReceive);
  passValues(facts.lent, Kind::awaitSend);
  run("update", last);
  return std::move(list);
}

std::vector<StageAction> ListBuilder::evaluation(int stages) {
  bool isFirst = stage == 0, isLast = stage + 1 == stages;
  passValues(facts.lent, Kind::send);
  passValues(facts.borrowed, Kind::receive);
  if (!isFirst)
    passActivationIn(Kind::receive, 0);
  passValues(facts.borrowed, Kind::awaitReceive);
  if (!isFirst)
    passActivationIn(Kind::awaitReceive, 0);
  run("evaluate", 0);
  if (!isLast) {
    passActivationOut(Kind::send, 0);
    passActivationOut(Kind::awaitSend, 0);
  }
  passValues(facts.lent, Kind::awaitSend);
  return std::move(list);
}

std::vector<StageAction> hone::pipeline::listStep(const Schedule &schedule,
                                                  int stage,
                                                  const StageFacts &facts) {
  return ListBuilder(stage, facts).step(schedule);
}

std::vector<StageAction>
hone::pipeline::listEvaluation(int stage, int stages, const StageFacts &facts) {
  return ListBuilder(stage, facts).evaluation(stages);
}
