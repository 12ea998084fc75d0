//===- StageStep.cpp - A step of the stages of a pipeline -----------------===//
//
// All ranks of all stages in one process. Ranks of a stage run its list in lock
// step; a stage runs until it waits for another one.
//
//===----------------------------------------------------------------------===//

#include "RunningStage.h"

#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Interpreter/Ranks.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>

using namespace mlir;
using namespace hone;
using namespace hone::interp;
using hone::run::Shards;
using hone::run::Stage;
using pipeline::Schedule;
using pipeline::StageAction;

//===----------------------------------------------------------------------===//
// Messages and lists
//===----------------------------------------------------------------------===//

namespace {
/// One end of a message.
struct End {
  std::string kind; ///< of the argument
  int micro;
};

/// The messages of one value between two stages, in order.
struct Channel {
  std::vector<End> sends, receives; ///< begun
  size_t copied = 0, sent = 0, received = 0;
};

/// A sum of all stages in their updates, on each rank.
using StageSum = Shards;

class StagesRunner {
public:
  StagesRunner(ModuleOp module, const run::Step &step, Mode mode)
      : module(module), step(step), mode(mode) {}

  FailureOr<run::State> run();

private:
  LogicalResult begin();
  LogicalResult makeLists();
  void lendWeights(MutableArrayRef<pipeline::StageFacts> facts,
                   const pipeline::Shape &shape);
  LogicalResult runLists();
  FailureOr<bool> runActions(Stage &stage);
  bool transfer(Stage &stage, const StageAction &action);
  void copyMessages(Channel &channel, int source, int destination,
                    const std::string &name);
  LogicalResult runUpdates();
  FailureOr<std::vector<Shards>>
  runUpdate(Stage &stage, ArrayRef<StageSum> sums, bool isLastRound);
  bool isUpdate(const Stage &stage) const {
    return stage.next != stage.list.size() && stage.list[stage.next].isRun() &&
           stage.list[stage.next].name == "update";
  }

  ModuleOp module;
  const run::Step &step;
  Mode mode;
  std::deque<Stage> stages;
  std::vector<std::vector<StageAction>> stepLists, evaluationLists;
  /// By source, destination, kind (of weights: none) and name.
  std::map<std::tuple<int, int, std::string, std::string>, Channel> channels;
};
} // namespace

LogicalResult StagesRunner::begin() {
  for (auto nested : module.getOps<ModuleOp>()) {
    auto meshes = nested.getOps<dist::MeshOp>();
    if (!llvm::hasSingleElement(meshes))
      return nested.emitError("has no dist.mesh, or several");
    dist::Mesh whole(*meshes.begin());
    SmallVector<dist::Mesh::Axis> axes;
    for (unsigned axis = 0; axis != whole.numAxes(); ++axis)
      if (whole[axis].name != dist::stageAxis)
        axes.push_back(whole[axis]);
    stages.emplace_back(nested, int(stages.size()),
                        dist::Mesh(std::move(axes), whole.network()), step,
                        mode);
    Stage &stage = stages.back();
    stage.begin();
    if (stage.find("fill_codes") &&
        failed(stage.run("fill_codes", {0}, /*keepsResults=*/false,
                         collectivesOn(stage.mesh, mode))))
      return failure();
  }
  return makeLists();
}

void StagesRunner::lendWeights(MutableArrayRef<pipeline::StageFacts> facts,
                               const pipeline::Shape &shape) {
  for (Stage &borrower : stages)
    for (const std::string &name : borrower.borrowedWeights())
      for (Stage &owner : stages) {
        if (!owner.has(kind::param, name) || !owner.has(kind::grad, name))
          continue;
        StringRef kind = owner.has(kind::workingCopy, name) ? kind::workingCopy
                                                            : kind::param;
        std::vector<std::string> sums;
        for (int index = 0; index != shape.chunksPerRank; ++index) {
          int chunk = shape.chunkOf(borrower.number, index);
          std::string sum = pipeline::nameChunk(shape, chunk).gradientSum(name);
          if (owner.has(kind::grad, sum))
            sums.push_back(sum);
        }
        facts[owner.number].lent.push_back(
            {name, borrower.number, kind.str(), sums});
        facts[borrower.number].borrowed.push_back(
            {name, owner.number, kind::workingCopy.str(), sums});
      }
}

LogicalResult StagesRunner::makeLists() {
  FailureOr<Schedule> schedule = pipeline::readStageSchedule(module);
  if (failed(schedule))
    return failure();
  SmallVector<pipeline::StageFacts, 0> facts;
  for (const Stage &stage : stages)
    facts.push_back(stage.facts(schedule->shape));
  const pipeline::Shape &shape = schedule->shape;
  lendWeights(facts, shape);
  int chunk = shape.chunks() - 1;
  const Stage &last = stages[shape.rankOf(chunk)];
  if (facts[last.number].chunks.back().joinsParts) {
    std::string input = pipeline::nameChunk(shape, chunk).input();
    bool isEarly = last.countOf(kind::boundary, input) > 1;
    if (llvm::Error error = pipeline::joinParts(*schedule, isEarly))
      return module.emitError(llvm::toString(std::move(error)));
  }
  for (const Stage &stage : stages) {
    const pipeline::StageFacts &own = facts[stage.number];
    stepLists.push_back(pipeline::listStep(*schedule, stage.number, own));
    if (own.evaluates)
      evaluationLists.push_back(
          pipeline::listEvaluation(schedule->shape, stage.number, own));
  }
  return success();
}

/// A message is copied when both ends have begun it, not before: a buffer that
/// is written too early is seen.
void StagesRunner::copyMessages(Channel &channel, int source, int destination,
                                const std::string &name) {
  size_t begun = std::min(channel.sends.size(), channel.receives.size());
  for (; channel.copied != begun; ++channel.copied) {
    const End &from = channel.sends[channel.copied];
    const End &to = channel.receives[channel.copied];
    stages[destination].instance(to.kind, name, to.micro) =
        stages[source].instance(from.kind, name, from.micro);
  }
}

/// Returns false where the action has to wait.
bool StagesRunner::transfer(Stage &stage, const StageAction &action) {
  using Kind = honert::ActionKind;
  bool isSender = action.kind == Kind::send || action.kind == Kind::awaitSend;
  int source = isSender ? stage.number : action.peer;
  int destination = isSender ? action.peer : stage.number;
  bool isWeight = action.argumentKind == kind::param ||
                  action.argumentKind == kind::workingCopy;
  Channel &channel = channels[{
      source, destination, isWeight ? "" : action.argumentKind, action.name}];
  if (action.kind == Kind::send || action.kind == Kind::receive) {
    (isSender ? channel.sends : channel.receives)
        .push_back({action.argumentKind, action.micro});
    copyMessages(channel, source, destination, action.name);
    return true;
  }
  size_t &ended = isSender ? channel.sent : channel.received;
  if (channel.copied == ended)
    return false;
  ++ended;
  return true;
}

/// Runs what `stage` can before it waits for another one; whether that is
/// anything. The update waits for all.
FailureOr<bool> StagesRunner::runActions(Stage &stage) {
  CollectiveFunction exchange = collectivesOn(stage.mesh, mode);
  size_t first = stage.next;
  for (; stage.next != stage.list.size() && !isUpdate(stage); ++stage.next) {
    const StageAction &action = stage.list[stage.next];
    if (!action.isRun()) {
      if (!transfer(stage, action))
        break;
      continue;
    }
    bool evaluates = dist::functionWithoutChunk(action.name) == "evaluate";
    if (failed(stage.run(action.name, {action.micro, action.beside}, evaluates,
                         exchange)))
      return failure();
  }
  return stage.next != first;
}

/// Runs an update up to the end, or to the first sum that is not among `sums`;
/// returns the terms of that.
FailureOr<std::vector<Shards>> StagesRunner::runUpdate(Stage &stage,
                                                       ArrayRef<StageSum> sums,
                                                       bool isLastRound) {
  CollectiveFunction others = collectivesOn(stage.mesh, mode);
  std::vector<Shards> terms;
  size_t seen = 0;
  auto exchange =
      [&](Operation *op,
          ArrayRef<Tensors> operands) -> FailureOr<std::vector<Tensor>> {
    auto sum = dyn_cast<dist::AllReduceOp>(op);
    bool isOfStages =
        sum && sum.getAxes().size() == 1 &&
        cast<StringAttr>(sum.getAxes()[0]).getValue() == dist::stageAxis;
    if (!isOfStages)
      return others(op, operands);
    size_t index = seen++;
    if (index < sums.size())
      return sums[index];
    Shards own;
    for (const Tensors &rank : operands)
      own.push_back(rank.front());
    terms.push_back(own);
    return own; // of a round that is made again
  };
  func::FuncOp update = stage.find("update");
  FailureOr<std::vector<Tensors>> made = stage.call(update, {0}, exchange);
  if (failed(made))
    return failure();
  if (terms.empty() && isLastRound)
    stage.keep(update, {0}, *made, /*keepsResults=*/true);
  return terms;
}

/// Sums of all stages are taken one after the other: each round knows one more.
LogicalResult StagesRunner::runUpdates() {
  std::vector<StageSum> sums;
  for (bool isLastRound = false;;) {
    std::vector<Shards> terms; // of the first unknown sum, by stage
    for (Stage &stage : stages) {
      FailureOr<std::vector<Shards>> own = runUpdate(stage, sums, isLastRound);
      if (failed(own))
        return failure();
      if (!own->empty())
        terms.push_back(own->front());
    }
    if (isLastRound)
      break;
    if (!terms.empty() && terms.size() != stages.size())
      return module.emitError("stages add up different numbers of sums");
    isLastRound = terms.empty();
    if (isLastRound)
      continue;
    StageSum sum;
    for (size_t rank = 0; rank != terms.front().size(); ++rank) {
      const Tensor &first = terms.front()[rank];
      std::vector<double> values(first.size());
      for (const Shards &stage : terms)
        for (int64_t i = 0; i != first.size(); ++i)
          values[i] += stage[rank].number(i);
      sum.push_back(Tensor::floats(first.element(), first.shape(),
                                   std::move(values), mode));
    }
    sums.push_back(std::move(sum));
  }
  for (Stage &stage : stages)
    ++stage.next;
  return success();
}

LogicalResult StagesRunner::runLists() {
  auto isAtEnd = [](const Stage &stage) {
    return stage.next == stage.list.size();
  };
  while (!llvm::all_of(stages, isAtEnd)) {
    bool hasMoved = false;
    for (Stage &stage : stages) {
      FailureOr<bool> moved = runActions(stage);
      if (failed(moved))
        return failure();
      hasMoved |= *moved;
    }
    if (llvm::all_of(stages, [&](Stage &stage) { return isUpdate(stage); })) {
      if (failed(runUpdates()))
        return failure();
      continue;
    }
    if (hasMoved)
      continue;
    InFlightDiagnostic error = module.emitError("all stages wait");
    for (const Stage &stage : stages)
      if (!isAtEnd(stage))
        error << "; stage " << stage.number << " for its action " << stage.next
              << ", " << honert::name(stage.list[stage.next].kind) << " '"
              << stage.list[stage.next].name << "'";
    return error;
  }
  return success();
}

FailureOr<run::State> StagesRunner::run() {
  if (failed(begin()))
    return failure();
  for (auto *lists : {&evaluationLists, &stepLists}) {
    if (lists->size() != stages.size())
      continue;
    for (Stage &stage : stages) {
      stage.list = (*lists)[stage.number];
      stage.next = 0;
    }
    channels.clear();
    if (failed(runLists()))
      return failure();
  }
  run::State all;
  for (Stage &stage : stages)
    if (failed(stage.collect(all)))
      return failure();
  return all;
}

FailureOr<run::State> run::runStagesStep(ModuleOp module, const Step &step,
                                         Mode mode) {
  return StagesRunner(module, step, mode).run();
}
