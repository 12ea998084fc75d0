//===- StageStep.cpp - A step of the stages of a pipeline -----------------===//
//
// All ranks of all stages in one process. Ranks of a stage run its list in lock
// step; a stage runs until it waits for another one.
//
//===----------------------------------------------------------------------===//

#include "StepState.h"

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Interpreter/Ranks.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <deque>

using namespace mlir;
using namespace hone;
using namespace hone::interp;
using pipeline::Schedule;
using pipeline::StageAction;

/// What each rank has of a value.
using Shards = std::vector<Tensor>;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {
/// A stage, its state and its place in a list.
class Stage {
public:
  Stage(ModuleOp module, int number, dist::Mesh mesh, const run::Step &step,
        Mode mode)
      : number(number), mesh(std::move(mesh)), module(module), step(step),
        mode(mode) {}

  /// Gives each argument of each function its instances.
  void begin();
  /// What the lists depend on besides the schedule and the other stages.
  pipeline::StageFacts facts() const;
  func::FuncOp find(StringRef function) const {
    ModuleOp own = module;
    return own.lookupSymbol<func::FuncOp>(function);
  }
  bool has(StringRef kind, StringRef fqn) const {
    return instances.count({kind.str(), fqn.str()});
  }
  SmallVector<std::string> borrowedWeights() const;

  /// How many micro-batches may have one at a time.
  int countOf(StringRef kind, StringRef fqn) const {
    auto found = instances.find({kind.str(), fqn.str()});
    return found == instances.end() ? 0 : int(found->second.size());
  }
  Shards &instance(StringRef kind, StringRef fqn, int micro) {
    // Lists call the gradients of a borrowed weight after the stage.
    if (!has(kind, fqn))
      fqn.consume_front(dist::stageName(number) + ".");
    std::vector<Shards> &all = instances.at({kind.str(), fqn.str()});
    return all[size_t(micro) % all.size()];
  }
  /// Runs `function` for `micro` and keeps what it returns.
  LogicalResult run(StringRef function, int micro, bool keepsResults,
                    const CollectiveFunction &exchange);
  /// What it returns, on each rank.
  FailureOr<std::vector<Tensors>> call(func::FuncOp func, int micro,
                                       const CollectiveFunction &exchange);
  void keep(func::FuncOp func, int micro, ArrayRef<Tensors> results,
            bool keepsResults);
  /// Adds the global tensors that the stage has replaced or returned.
  LogicalResult collect(run::State &into);

  int number;
  dist::Mesh mesh; ///< without the axis of stages
  std::vector<StageAction> list;
  size_t next = 0;

private:
  dist::Sharding shardingOf(DictionaryAttr attrs, RankedTensorType type) const;
  void beginArgument(func::FuncOp func, unsigned index);

  ModuleOp module;
  const run::Step &step;
  Mode mode;
  std::map<run::Key, std::vector<Shards>> instances;
  std::map<run::Key, dist::Sharding> shardings;
  std::map<run::Key, Shards> results;
  std::vector<run::Key> replaced;
};
} // namespace

dist::Sharding Stage::shardingOf(DictionaryAttr attrs,
                                 RankedTensorType type) const {
  auto sharding =
      attrs ? attrs.getAs<dist::ShardingAttr>(dist::shardingAttr) : nullptr;
  return sharding ? dist::toSharding(sharding, mesh)
                  : dist::Sharding::whole(type.getRank());
}

static Tensor zerosOf(RankedTensorType type, Mode mode) {
  Element element = *elementOf(type.getElementType());
  int64_t count = type.getNumElements();
  return isFloat(element) ? Tensor::floats(element, Shape(type.getShape()),
                                           std::vector<double>(count), mode)
                          : Tensor::ints(element, Shape(type.getShape()),
                                         std::vector<int64_t>(count));
}

/// State that a step begins with is cut into shards; what stages hand to each
/// other, save or add up begins with zeros.
void Stage::beginArgument(func::FuncOp func, unsigned index) {
  run::Key key = run::keyOfArgument(func, index);
  std::vector<Shards> &all = instances[key];
  if (!all.empty())
    return;
  auto type = cast<RankedTensorType>(func.getArgumentTypes()[index]);
  dist::Sharding sharding = shardingOf(func.getArgAttrDict(index), type);
  shardings[key] = sharding;
  bool isOfBatch = key.first == kind::input || key.first == kind::rng;
  auto window = func.getArgAttrOfType<IntegerAttr>(index, dist::windowAttr);
  size_t count = isOfBatch ? step.batches.size() : window ? window.getInt() : 1;
  for (size_t micro = 0; micro != count; ++micro) {
    const Tensor *whole = step.find(key, isOfBatch ? micro : 0);
    Shards shards;
    for (int64_t rank = 0; rank != mesh.numRanks(); ++rank)
      shards.push_back(whole && key.first != kind::grad
                           ? partOf(*whole, sharding, mesh, rank)
                           : zerosOf(type, mode));
    all.push_back(std::move(shards));
  }
}

void Stage::begin() {
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index != func.getNumArguments(); ++index)
      beginArgument(func, index);
}

pipeline::StageFacts Stage::facts() const {
  pipeline::StageFacts facts;
  facts.joinsParts = bool(find("accumulate"));
  facts.evaluates = bool(find("evaluate"));
  facts.activationsOut =
      std::max(1, countOf(kind::boundary, dist::stageName(number + 1)));
  facts.gradientsOut =
      std::max(1, countOf(kind::boundary, dist::gradientName(number)));
  return facts;
}

SmallVector<std::string> Stage::borrowedWeights() const {
  SmallVector<std::string> names;
  for (const auto &entry : instances)
    if (entry.first.first == kind::workingCopy &&
        !has(kind::param, entry.first.second))
      names.push_back(entry.first.second);
  return names;
}

FailureOr<std::vector<Tensors>>
Stage::call(func::FuncOp func, int micro, const CollectiveFunction &exchange) {
  std::vector<Tensors> arguments(mesh.numRanks());
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto [kind, fqn] = run::keyOfArgument(func, index);
    for (auto [rank, shard] : llvm::enumerate(instance(kind, fqn, micro)))
      arguments[rank].push_back(shard);
  }
  return interpretRanks(func, std::move(arguments), mode, exchange);
}

void Stage::keep(func::FuncOp func, int micro, ArrayRef<Tensors> made,
                 bool keepsResults) {
  for (unsigned index = 0; index != func.getNumResults(); ++index) {
    Shards shards;
    for (const Tensors &rank : made)
      shards.push_back(rank[index]);
    run::Key key = run::keyOfResult(func, index);
    if (std::optional<unsigned> donor = run::donorOf(func, index)) {
      key = run::keyOfArgument(func, *donor);
      instance(key.first, key.second, micro) = std::move(shards);
      replaced.push_back(key);
    } else if (keepsResults) {
      key.first = (func.getSymName() + " " + key.first).str();
      auto type = cast<RankedTensorType>(func.getResultTypes()[index]);
      shardings[key] = shardingOf(func.getResultAttrDict(index), type);
      results[key] = std::move(shards);
    }
  }
}

LogicalResult Stage::run(StringRef function, int micro, bool keepsResults,
                         const CollectiveFunction &exchange) {
  func::FuncOp func = find(function);
  if (!func)
    return module.emitError("has no function @") << function;
  FailureOr<std::vector<Tensors>> made = call(func, micro, exchange);
  if (failed(made))
    return failure();
  keep(func, micro, *made, keepsResults);
  return success();
}

LogicalResult Stage::collect(run::State &into) {
  std::map<run::Key, Shards> all = results;
  for (const run::Key &key : replaced)
    if (key.first != kind::saved && key.first != kind::boundary &&
        key.first != kind::grad)
      all[key] = instances.at(key).front();
  for (const auto &[key, shards] : all) {
    const dist::Sharding &sharding = shardings.at(key);
    RankedTensorType part = RankedTensorType::get(
        shards.front().shape(), Builder(module.getContext()).getF32Type());
    llvm::Expected<Tensor> whole =
        assemble(shards, dist::wholeType(part, sharding, mesh).getShape(),
                 sharding, mesh);
    if (!whole)
      return module.emitError() << key.first << " '" << key.second
                                << "': " << llvm::toString(whole.takeError());
    auto [entry, isNew] = into.try_emplace(key, *whole);
    if (isNew)
      continue;
    for (int64_t i = 0; i != whole->size(); ++i)
      if (double a = entry->second.number(i), b = whole->number(i);
          a != b && !(std::isnan(a) && std::isnan(b)))
        return module.emitError() << "has another " << key.first << " '"
                                  << key.second << "' than an earlier stage";
  }
  return success();
}

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
  void lendWeights(MutableArrayRef<pipeline::StageFacts> facts);
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
    stages.back().begin();
  }
  return makeLists();
}

void StagesRunner::lendWeights(MutableArrayRef<pipeline::StageFacts> facts) {
  for (Stage &borrower : stages)
    for (const std::string &name : borrower.borrowedWeights())
      for (Stage &owner : stages) {
        if (!owner.has(kind::param, name) || !owner.has(kind::grad, name))
          continue;
        StringRef kind = owner.has(kind::workingCopy, name) ? kind::workingCopy
                                                            : kind::param;
        facts[owner.number].lent.push_back({name, borrower.number, kind.str()});
        facts[borrower.number].borrowed.push_back(
            {name, owner.number, kind::workingCopy.str()});
      }
}

LogicalResult StagesRunner::makeLists() {
  FailureOr<Schedule> schedule = pipeline::readStageSchedule(module);
  if (failed(schedule))
    return failure();
  SmallVector<pipeline::StageFacts, 0> facts;
  for (const Stage &stage : stages)
    facts.push_back(stage.facts());
  lendWeights(facts);
  for (const Stage &stage : stages) {
    if (!facts[stage.number].joinsParts)
      continue;
    bool isEarly =
        stage.countOf(kind::boundary, dist::stageName(stage.number)) > 1;
    if (llvm::Error error =
            pipeline::joinParts(*schedule, stage.number, isEarly))
      return module.emitError(llvm::toString(std::move(error)));
  }
  for (const Stage &stage : stages) {
    const pipeline::StageFacts &own = facts[stage.number];
    stepLists.push_back(pipeline::listStep(*schedule, stage.number, own));
    if (own.evaluates)
      evaluationLists.push_back(
          pipeline::listEvaluation(stage.number, int(stages.size()), own));
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
    if (failed(stage.run(action.name, action.micro, action.name == "evaluate",
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
  FailureOr<std::vector<Tensors>> made = stage.call(update, 0, exchange);
  if (failed(made))
    return failure();
  if (terms.empty() && isLastRound)
    stage.keep(update, 0, *made, /*keepsResults=*/true);
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
