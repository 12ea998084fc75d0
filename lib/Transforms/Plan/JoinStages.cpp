//===- JoinStages.cpp - From modules of stages to programs with lists -----===//

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/IR/CodeNames.h"
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
using pipeline::Shape;
using pipeline::SharedWeight;
using pipeline::StageAction;
using pipeline::WindowClass;

namespace {
/// A stage: its planned program, and what its lists depend on.
class Stage {
public:
  Stage(ProgramOp program, int number) : number(number), op(program) {
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
  InFlightDiagnostic error() const {
    return program().emitError() << "stage " << number << " ";
  }

  LogicalResult checkBoundaries(const Shape &shape, int chunk) const;
  LogicalResult checkFunctions(const Schedule &schedule) const;
  /// Of one of its chunks.
  ChunkWindows windows(const Schedule &schedule, int chunk) const;
  pipeline::ChunkFacts &factsOf(const Shape &shape, int chunk) {
    return facts.chunks[chunk / shape.ranks];
  }
  void write(StringRef list, ArrayRef<StageAction> actions) const;

  int number;
  pipeline::StageFacts facts;

private:
  ProgramOp op;
  int windowOf(StringRef boundary) const {
    ArgumentOp argument = find(kind::boundary, boundary);
    return argument ? int(argument.getWindow()) : 0;
  }
  bool uses(FunctionOp function, ArgumentOp argument) const;
  bool isSavedBy(dist::Chunk chunk, ArgumentOp argument) const;

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

/// Whether a function of `chunk` reads or writes `argument`, of kind saved.
bool Stage::isSavedBy(dist::Chunk chunk, ArgumentOp argument) const {
  return llvm::any_of(program().getOps<FunctionOp>(), [&](FunctionOp function) {
    StringRef name = dist::functionWithoutChunk(function.getSymName());
    return chunk.function(name) == function.getSymName() &&
           uses(function, argument);
  });
}

//===----------------------------------------------------------------------===//
// What a stage must have
//===----------------------------------------------------------------------===//

LogicalResult Stage::checkBoundaries(const Shape &shape, int chunk) const {
  dist::Chunk name = pipeline::nameChunk(shape, chunk);
  auto expect = [&](const std::string &fqn) -> LogicalResult {
    if (find(kind::boundary, fqn))
      return success();
    return error() << "has no argument '" << fqn << "' of kind "
                   << kind::boundary;
  };
  if (shape.contains(chunk - 1) &&
      (failed(expect(name.input())) || failed(expect(name.inputGradient()))))
    return failure();
  if (!shape.contains(chunk + 1))
    return success();
  return failure(failed(expect(name.output())) ||
                 failed(expect(name.outputGradient())));
}

/// Both ends of a message have one type: `chunk` is of `next`, the one before
/// it of `stage`.
static LogicalResult checkBetween(const Stage &stage, const Stage &next,
                                  dist::Chunk chunk) {
  for (const std::string &fqn : {chunk.input(), chunk.inputGradient()}) {
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
  const Shape &shape = schedule.shape;
  auto expect = [&](StringRef name, const Twine &reader) -> LogicalResult {
    if (findFunction(name))
      return success();
    return error() << "has no function @" << name << ", which " << reader
                   << " runs";
  };
  for (const pipeline::Action &action : schedule.ranks[number]) {
    if (pipeline::isTransfer(action.kind))
      continue;
    StringRef name = pipeline::functionOf(
        action.kind, facts.chunks[action.chunk / shape.ranks].joinsParts);
    if (!name.empty() &&
        failed(expect(pipeline::nameChunk(shape, action.chunk).function(name),
                      "schedule '" + schedule.name + "'")))
      return failure();
    if (action.overlapsNext &&
        failed(expect(pipeline::overlapFunction(
                          pipeline::nameChunk(shape, action.chunk),
                          pipeline::nameChunk(shape, (&action)[1].chunk)),
                      "schedule '" + schedule.name + "'")))
      return failure();
  }
  return expect("update", "a step");
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// As the arguments have them. What is saved by @forward is of class Saved,
/// other values are those that @backward_input keeps for @backward_weight.
ChunkWindows Stage::windows(const Schedule &schedule, int chunk) const {
  dist::Chunk name = pipeline::nameChunk(schedule.shape, chunk);
  ChunkWindows windows;
  windows[WindowClass::ActivationIn] = windowOf(name.input());
  windows[WindowClass::GradientOut] = windowOf(name.inputGradient());
  windows[WindowClass::ActivationOut] = windowOf(name.output());
  windows[WindowClass::GradientIn] = windowOf(name.outputGradient());
  // Where nothing is saved, nothing is written over.
  for (WindowClass window : {WindowClass::Saved, WindowClass::Grads})
    windows[window] = schedule.shape.microBatches;
  FunctionOp forward = findFunction(name.function("forward"));
  for (auto argument : program().getOps<ArgumentOp>()) {
    if (argument.getKind() != kind::saved || !isSavedBy(name, argument))
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
  WeightLender(MutableArrayRef<Stage> stages, const Shape &shape)
      : stages(stages), shape(shape) {}

  LogicalResult run() {
    for (Stage &stage : stages)
      for (auto argument : stage.program().getOps<ArgumentOp>())
        if (argument.getKind() == kind::workingCopy &&
            weightOfCodes(argument.getFqn()).empty() &&
            !stage.find(kind::param, argument.getFqn()) &&
            failed(lend(argument, stage)))
          return failure();
    return success();
  }

private:
  LogicalResult lend(ArgumentOp copy, Stage &borrower);
  FailureOr<StringRef> findSource(ArgumentOp copy, const Stage &owner,
                                  const Stage &borrower) const;
  FailureOr<std::string> findSum(StringRef weight, const Stage &owner,
                                 const Stage &borrower,
                                 dist::Chunk chunk) const;

  MutableArrayRef<Stage> stages;
  const Shape &shape;
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

/// Gives the sum of the gradients that `chunk` of `borrower` adds up the name
/// that the owner has for it; "" where neither has one.
FailureOr<std::string> WeightLender::findSum(StringRef weight,
                                             const Stage &owner,
                                             const Stage &borrower,
                                             dist::Chunk chunk) const {
  std::string name = chunk.gradientSum(weight);
  ArgumentOp sum = owner.find(kind::grad, name);
  ArgumentOp own =
      borrower.find(kind::grad, chunk.isStage ? weight : StringRef(name));
  if (!sum != !own)
    return borrower.error()
           << (own ? "has gradients of '" : "has no gradients of '") << weight
           << "', unlike stage " << owner.number << ", which "
           << (sum ? "receives" : "does not receive") << " them as '" << name
           << "'";
  if (!own)
    return std::string();
  if (own.getType() != sum.getType())
    return borrower.error() << "has gradients of '" << weight << "' of type "
                            << own.getType() << ", expected " << sum.getType()
                            << " as '" << name << "' of stage " << owner.number;
  own.setFqn(name); // both ends of a message call it alike
  return name;
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
  std::vector<std::string> sums;
  for (int index = 0; index != shape.chunksPerRank; ++index) {
    FailureOr<std::string> sum = findSum(
        weight, *owner, borrower,
        pipeline::nameChunk(shape, shape.chunkOf(borrower.number, index)));
    if (failed(sum))
      return failure();
    if (!sum->empty())
      sums.push_back(std::move(*sum));
  }
  FailureOr<StringRef> source = findSource(copy, *owner, borrower);
  if (failed(source))
    return failure();
  if (!owner->find(kind::grad, weight))
    return success();
  owner->facts.lent.push_back(
      {weight.str(), borrower.number, source->str(), sums});
  borrower.facts.borrowed.push_back(
      {weight.str(), owner->number, kind::workingCopy.str(), sums});
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
      builder.create<RunOp>(loc, action.name, action.micro,
                            action.beside
                                ? builder.getI64IntegerAttr(*action.beside)
                                : IntegerAttr());
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
  LogicalResult findFacts(Stage &stage, const Shape &shape);
  LogicalResult connect(const Shape &shape);
  LogicalResult checkMesh(dist::MeshOp mesh);
  FailureOr<ProgramOp> findProgram(ModuleOp module);
  LogicalResult joinParts(Schedule &schedule);
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
    stages.emplace_back(*program, int(number));
  }
  return success();
}
/// Only the last chunk needs nothing of another between its two parts.
LogicalResult JoinStages::findFacts(Stage &stage, const Shape &shape) {
  bool evaluatesAll = true;
  stage.facts.evaluates = false;
  for (int index = 0; index != shape.chunksPerRank; ++index) {
    int chunk = shape.chunkOf(stage.number, index);
    dist::Chunk name = pipeline::nameChunk(shape, chunk);
    bool evaluates = bool(stage.findFunction(name.function("evaluate")));
    stage.facts.evaluates |= evaluates;
    evaluatesAll &= evaluates;
    pipeline::ChunkFacts &facts = stage.facts.chunks.emplace_back();
    std::string whole = name.function("accumulate");
    facts.joinsParts = bool(stage.findFunction(whole));
    if (facts.joinsParts && shape.contains(chunk + 1))
      return stage.error()
             << "has @" << whole
             << ", expected its forward and backward part as two functions: "
                "only the last "
             << (name.isStage ? "stage" : "chunk")
             << " needs nothing of another between them";
    if (failed(stage.checkBoundaries(shape, chunk)))
      return failure();
  }
  if (stage.facts.evaluates != evaluatesAll)
    return stage.error() << "has a function @evaluate for some of its chunks, "
                            "expected one for each, or none";
  if (stage.facts.evaluates != stages.front().facts.evaluates)
    return stage.error() << "has " << (evaluatesAll ? "a" : "no")
                         << " function @evaluate, unlike stage 0";
  return success();
}

/// What stages hand each other.
LogicalResult JoinStages::connect(const Shape &shape) {
  for (Stage &stage : stages)
    if (failed(findFacts(stage, shape)))
      return failure();
  for (int chunk = 1; chunk != shape.chunks(); ++chunk)
    if (failed(checkBetween(stages[shape.rankOf(chunk - 1)],
                            stages[shape.rankOf(chunk)],
                            pipeline::nameChunk(shape, chunk))))
      return failure();
  return WeightLender(stages, shape).run();
}

LogicalResult JoinStages::joinParts(Schedule &schedule) {
  int chunk = schedule.shape.chunks() - 1;
  Stage &last = stages[schedule.shape.rankOf(chunk)];
  if (!last.factsOf(schedule.shape, chunk).joinsParts)
    return success();
  bool receivesEarly =
      last.windows(schedule, chunk)[WindowClass::ActivationIn] > 1;
  if (llvm::Error error = pipeline::joinParts(schedule, receivesEarly))
    return getOperation().emitError(llvm::toString(std::move(error)));
  return success();
}

/// The arguments have as many instances as the schedule needs.
LogicalResult JoinStages::checkWindows(const Schedule &schedule) {
  const Shape &shape = schedule.shape;
  std::vector<ChunkWindows> windows;
  for (int chunk = 0; chunk != shape.chunks(); ++chunk) {
    Stage &stage = stages[shape.rankOf(chunk)];
    windows.push_back(stage.windows(schedule, chunk));
    pipeline::ChunkFacts &facts = stage.factsOf(shape, chunk);
    facts.activationsOut = windows.back()[WindowClass::ActivationOut];
    facts.gradientsOut = windows.back()[WindowClass::GradientOut];
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
  FailureOr<Schedule> schedule = pipeline::readStageSchedule(getOperation());
  if (failed(schedule))
    return failure();
  if (size_t expected = schedule->ranks.size(); stages.size() != expected)
    return getOperation().emitError()
           << "has " << stages.size() << " stages, expected " << expected
           << " as " << dist::stagesAttr << " says";
  if (failed(connect(schedule->shape)) || failed(joinParts(*schedule)))
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
                                  schedule->shape, stage.number, stage.facts));
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
