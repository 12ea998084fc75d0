//===- JoinStages.cpp - From modules of stages to programs with lists -----===//

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/IR/Hone.h"
#include "hone/Plan/Plan.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_JOINSTAGES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::plan;
using pipeline::ChunkWindows;
using pipeline::Schedule;
using pipeline::SharedWeight;
using pipeline::StageAction;
using pipeline::WindowClass;

namespace {
/// A stage: its planned program, and what its lists depend on.
class Stage {
public:
  Stage(ProgramOp program, int number, int stages)
      : number(number), stages(stages), op(program) {
    for (auto argument : program.getOps<ArgumentOp>())
      arguments.insert({{argument.getKind(), argument.getFqn()}, argument});
  }

  ArgumentOp find(StringRef kind, StringRef fqn) const {
    return arguments.lookup({kind, fqn});
  }
  FunctionOp findFunction(StringRef name) const {
    return dyn_cast_or_null<FunctionOp>(SymbolTable::lookupSymbolIn(op, name));
  }
  ProgramOp program() const { return op; }
  bool isFirst() const { return number == 0; }
  bool isLast() const { return number + 1 == stages; }
  InFlightDiagnostic error() const {
    return program().emitError() << "stage " << number << " ";
  }

  LogicalResult checkBoundaries() const;
  LogicalResult checkFunctions(const Schedule &schedule) const;
  ChunkWindows windows(const Schedule &schedule) const;
  void write(StringRef list, ArrayRef<StageAction> actions) const;

  int number, stages;
  pipeline::StageFacts facts;

private:
  ProgramOp op;
  int windowOf(StringRef boundary) const {
    ArgumentOp argument = find(kind::boundary, boundary);
    return argument ? int(argument.getWindow()) : 0;
  }
  bool uses(FunctionOp function, ArgumentOp argument) const;

  DenseMap<std::pair<StringRef, StringRef>, ArgumentOp> arguments;
};
} // namespace

/// Whether `function` reads or writes `argument`.
bool Stage::uses(FunctionOp function, ArgumentOp argument) const {
  int64_t begin = argument.getOffset();
  int64_t end = begin + windowBytes(argument.getType(), 1);
  return llvm::any_of(function.getOps<BufferOp>(), [&](BufferOp buffer) {
    return int64_t(buffer.getOffset()) >= begin &&
           int64_t(buffer.getOffset()) < end;
  });
}

//===----------------------------------------------------------------------===//
// What a stage must have
//===----------------------------------------------------------------------===//

LogicalResult Stage::checkBoundaries() const {
  auto expect = [&](const std::string &fqn) -> LogicalResult {
    if (find(kind::boundary, fqn))
      return success();
    return error() << "has no argument '" << fqn << "' of kind "
                   << kind::boundary;
  };
  if (!isFirst() && (failed(expect(dist::stageName(number))) ||
                     failed(expect(dist::gradientName(number)))))
    return failure();
  if (isLast())
    return success();
  return failure(failed(expect(dist::stageName(number + 1))) ||
                 failed(expect(dist::gradientName(number + 1))));
}

/// Both ends of a message have one type.
static LogicalResult checkBetween(const Stage &stage, const Stage &next) {
  for (const std::string &fqn :
       {dist::stageName(next.number), dist::gradientName(next.number)}) {
    Type sent = stage.find(kind::boundary, fqn).getType();
    Type received = next.find(kind::boundary, fqn).getType();
    if (sent != received)
      return next.error() << "has boundary '" << fqn << "' of type " << received
                          << ", expected " << sent << " as stage "
                          << stage.number << " has";
  }
  return success();
}

LogicalResult Stage::checkFunctions(const Schedule &schedule) const {
  if (facts.joinsParts && !isLast())
    return error() << "has @accumulate, expected its forward and backward part "
                      "as two functions: only the last stage needs nothing of "
                      "another between them";
  auto expect = [&](StringRef name, StringRef reader) -> LogicalResult {
    if (findFunction(name))
      return success();
    return error() << "has no function @" << name << ", which " << reader
                   << " runs";
  };
  for (const pipeline::Action &action : schedule.ranks[number]) {
    if (pipeline::isTransfer(action.kind))
      continue;
    StringRef name = pipeline::functionOf(action.kind, facts.joinsParts);
    if (!name.empty() &&
        failed(expect(name, "schedule '" + schedule.name + "'")))
      return failure();
  }
  return expect("update", "a step");
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// As the arguments have them. What is saved by @forward is of class Saved,
/// other values are those that @backward_input keeps for @backward_weight.
ChunkWindows Stage::windows(const Schedule &schedule) const {
  ChunkWindows windows;
  windows[WindowClass::ActivationIn] = windowOf(dist::stageName(number));
  windows[WindowClass::GradientOut] = windowOf(dist::gradientName(number));
  windows[WindowClass::ActivationOut] = windowOf(dist::stageName(number + 1));
  windows[WindowClass::GradientIn] = windowOf(dist::gradientName(number + 1));
  // Where nothing is saved, nothing is written over.
  for (WindowClass window : {WindowClass::Saved, WindowClass::Grads})
    windows[window] = schedule.shape.microBatches;
  FunctionOp forward = findFunction("forward");
  for (auto argument : program().getOps<ArgumentOp>()) {
    if (argument.getKind() != kind::saved)
      continue;
    bool isOfForward = !forward || uses(forward, argument);
    int &count = windows[isOfForward ? WindowClass::Saved : WindowClass::Grads];
    count = std::min(count, int(argument.getWindow()));
  }
  return windows;
}

//===----------------------------------------------------------------------===//
// Weights of two stages
//===----------------------------------------------------------------------===//

namespace {
/// Finds the owners of weights that stages borrow, and gives the sums of their
/// gradients one name.
class WeightLender {
public:
  explicit WeightLender(MutableArrayRef<Stage> stages) : stages(stages) {}

  LogicalResult run() {
    for (Stage &stage : stages)
      for (auto argument : stage.program().getOps<ArgumentOp>())
        if (argument.getKind() == kind::workingCopy &&
            !stage.find(kind::param, argument.getFqn()) &&
            failed(lend(argument, stage)))
          return failure();
    return success();
  }

private:
  LogicalResult lend(ArgumentOp copy, Stage &borrower);
  FailureOr<StringRef> findSource(ArgumentOp copy, const Stage &owner,
                                  const Stage &borrower) const;

  MutableArrayRef<Stage> stages;
};
} // namespace

/// The kind of the owner's argument that the borrower's copy is one of.
FailureOr<StringRef> WeightLender::findSource(ArgumentOp copy,
                                              const Stage &owner,
                                              const Stage &borrower) const {
  for (StringRef kind : {kind::workingCopy, kind::param})
    if (ArgumentOp source = owner.find(kind, copy.getFqn());
        source && source.getType() == copy.getType())
      return kind;
  return borrower.error() << "has a working copy of '" << copy.getFqn()
                          << "' of type " << copy.getType()
                          << ", expected that of the parameter or of a "
                          << "working copy in stage " << owner.number;
}

/// A weight that is not trained stays as the runtime has filled it.
LogicalResult WeightLender::lend(ArgumentOp copy, Stage &borrower) {
  StringRef weight = copy.getFqn();
  auto owner = llvm::find_if(stages, [&](const Stage &stage) {
    return bool(stage.find(kind::param, weight));
  });
  if (owner == stages.end())
    return borrower.error() << "has a working copy of '" << weight
                            << "', which no stage has as a parameter";
  std::string name = pipeline::gradientSumName(borrower.number, weight);
  ArgumentOp sum = owner->find(kind::grad, name);
  ArgumentOp own = borrower.find(kind::grad, weight);
  if (!sum != !own)
    return borrower.error()
           << (own ? "has gradients of '" : "has no gradients of '") << weight
           << "', unlike stage " << owner->number << ", which "
           << (sum ? "receives" : "does not receive") << " them as '" << name
           << "'";
  if (own && own.getType() != sum.getType())
    return borrower.error()
           << "has gradients of '" << weight << "' of type " << own.getType()
           << ", expected " << sum.getType() << " as '" << name << "' of stage "
           << owner->number;
  FailureOr<StringRef> source = findSource(copy, *owner, borrower);
  if (failed(source))
    return failure();
  if (!owner->find(kind::grad, weight))
    return success();
  owner->facts.lent.push_back({weight.str(), borrower.number, source->str()});
  borrower.facts.borrowed.push_back(
      {weight.str(), owner->number, kind::workingCopy.str()});
  if (own)
    own.setFqn(name); // both ends of a message call it alike
  return success();
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// The dialect's name of a kind of action that is no run.
static Transfer transferOf(honert::ActionKind kind) {
  return *symbolizeTransfer(honert::name(kind));
}

void Stage::write(StringRef list, ArrayRef<StageAction> actions) const {
  OpBuilder builder = OpBuilder::atBlockEnd(&program().getBody().front());
  Location loc = program().getLoc();
  auto op = builder.create<ActionsOp>(loc, list);
  builder.createBlock(&op.getBody());
  for (const StageAction &action : actions)
    if (action.isRun())
      builder.create<RunOp>(loc, action.name, action.micro);
    else
      builder.create<TransferOp>(loc, transferOf(action.kind),
                                 action.argumentKind, action.name, action.micro,
                                 action.peer);
}

namespace {
struct JoinStages : hone::impl::JoinStagesBase<JoinStages> {
  void runOnOperation() override {
    for (auto module : getOperation().getOps<ModuleOp>())
      if (module->hasAttr(dist::stageAttr))
        modules.push_back(module);
    if (modules.empty())
      return markAllAnalysesPreserved();
    if (failed(collect()) || failed(writeLists()))
      return signalPassFailure();
    move();
  }

  LogicalResult collect();
  LogicalResult checkMesh(dist::MeshOp mesh);
  FailureOr<ProgramOp> findProgram(ModuleOp module);
  FailureOr<Schedule> makeSchedule();
  LogicalResult checkWindows(const Schedule &schedule);
  LogicalResult writeLists();
  void move();

  SmallVector<ModuleOp> modules;
  SmallVector<Stage, 0> stages;
  dist::MeshOp mesh; ///< of the first stage
};
} // namespace

FailureOr<ProgramOp> JoinStages::findProgram(ModuleOp module) {
  auto programs = module.getOps<ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return module.emitError()
           << "has " << llvm::range_size(programs)
           << " programs, expected one: run hone-plan-memory "
              "on each stage before";
  for (Operation &op : *module.getBody())
    if (!isa_and_present<PlanDialect, dist::DistDialect>(op.getDialect()))
      return op.emitOpError("is beside the program of a stage, expected "
                            "dist.mesh alone");
  return *programs.begin();
}

/// All stages have the mesh of the whole.
LogicalResult JoinStages::checkMesh(dist::MeshOp own) {
  if (!mesh)
    mesh = own;
  if (own->getAttrDictionary() != mesh->getAttrDictionary())
    return own.emitOpError("differs from that of stage 0");
  dist::Mesh axes(own);
  std::optional<unsigned> axis = axes.find(dist::stageAxis);
  if (axis && axes[*axis].size == int64_t(modules.size()))
    return success();
  return own.emitOpError() << "has "
                           << (axis ? std::to_string(axes[*axis].size) : "no")
                           << " ranks along an axis '" << dist::stageAxis
                           << "', expected " << modules.size()
                           << ", one for each stage";
}

LogicalResult JoinStages::collect() {
  int count = int(modules.size());
  for (auto [number, module] : llvm::enumerate(modules)) {
    auto stage = module->getAttrOfType<IntegerAttr>(dist::stageAttr);
    if (stage.getInt() != int64_t(number))
      return module.emitError()
             << "is stage " << stage.getInt() << ", expected stage " << number;
    FailureOr<ProgramOp> program = findProgram(module);
    if (failed(program))
      return failure();
    auto meshes = module.getOps<dist::MeshOp>();
    if (!llvm::hasSingleElement(meshes))
      return module.emitError("has no dist.mesh, or several");
    if (failed(checkMesh(*meshes.begin())))
      return failure();
    stages.emplace_back(*program, int(number), count);
  }
  for (Stage &stage : stages) {
    stage.facts.joinsParts = bool(stage.findFunction("accumulate"));
    stage.facts.evaluates = bool(stage.findFunction("evaluate"));
    if (stage.facts.evaluates != stages.front().facts.evaluates)
      return stage.error() << "has " << (stage.facts.evaluates ? "a" : "no")
                           << " function @evaluate, unlike stage 0";
    if (failed(stage.checkBoundaries()))
      return failure();
  }
  for (int number = 0; number + 1 < count; ++number)
    if (failed(checkBetween(stages[number], stages[number + 1])))
      return failure();
  return WeightLender(stages).run();
}

FailureOr<Schedule> JoinStages::makeSchedule() {
  FailureOr<Schedule> schedule = pipeline::readStageSchedule(getOperation());
  if (failed(schedule))
    return failure();
  if (size_t expected = schedule->ranks.size(); stages.size() != expected)
    return getOperation().emitError()
           << "has " << stages.size() << " stages, expected " << expected
           << " as " << dist::stagesAttr << " says";
  Stage &last = stages.back();
  if (last.facts.joinsParts) {
    bool receivesEarly = last.windows(*schedule)[WindowClass::ActivationIn] > 1;
    if (llvm::Error error =
            pipeline::joinParts(*schedule, last.number, receivesEarly))
      return getOperation().emitError(llvm::toString(std::move(error)));
  }
  return schedule;
}

/// The arguments have as many instances as the schedule needs.
LogicalResult JoinStages::checkWindows(const Schedule &schedule) {
  std::vector<ChunkWindows> windows;
  for (Stage &stage : stages) {
    windows.push_back(stage.windows(schedule));
    stage.facts.activationsOut = windows.back()[WindowClass::ActivationOut];
    stage.facts.gradientsOut = windows.back()[WindowClass::GradientOut];
  }
  std::optional<pipeline::Violation> violation =
      pipeline::checkSchedule(schedule, windows);
  if (!violation)
    return success();
  return getOperation().emitError()
         << "schedule '" << schedule.name
         << "' with the windows of the stages: " << violation->message;
}

LogicalResult JoinStages::writeLists() {
  FailureOr<Schedule> schedule = makeSchedule();
  if (failed(schedule))
    return failure();
  for (const Stage &stage : stages)
    if (failed(stage.checkFunctions(*schedule)))
      return failure();
  if (failed(checkWindows(*schedule)))
    return failure();
  for (const Stage &stage : stages) {
    stage.write("step",
                pipeline::listStep(*schedule, stage.number, stage.facts));
    if (stage.facts.evaluates)
      stage.write("evaluate", pipeline::listEvaluation(
                                  stage.number, stage.stages, stage.facts));
  }
  return success();
}

/// The programs and the mesh take the place of the modules.
void JoinStages::move() {
  OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
  if (getOperation().getOps<dist::MeshOp>().empty())
    mesh->moveBefore(builder.getInsertionBlock(),
                     builder.getInsertionBlock()->begin());
  for (const Stage &stage : stages) {
    ProgramOp program = stage.program();
    program->moveBefore(getOperation().getBody(),
                        getOperation().getBody()->end());
    program.setSymName(dist::stageName(stage.number));
    program.setStage(stage.number);
  }
  for (ModuleOp module : modules)
    module.erase();
}
