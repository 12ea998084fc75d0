//===- Summary.cpp - What a planned program costs -------------------------===//

#include "hone/Report/Summary.h"

#include "hone/Analysis/Cost/StepFlops.h"
#include "hone/IR/Locations.h"
#include "hone/Plan/LaunchLabel.h"
#include "hone/Sharding/Model/Traffic.h"
#include "hone/Support/ByteSize.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <tuple>

using namespace hone;
using namespace hone::report;
using llvm::formatv;
using llvm::StringRef;

StringRef hone::report::passName(Pass pass) {
  return pass == Pass::forward    ? "forward"
         : pass == Pass::backward ? "backward"
                                  : "update";
}

int64_t Summary::timesPerStep(StringRef function) const {
  return hone::timesPerStep(function, microBatches);
}

int64_t Summary::flopsPerStep() const {
  int64_t total = 0;
  for (const Launch &launch : launches)
    total += launch.flops * timesPerStep(launch.function);
  return total;
}

int64_t Summary::bytesPerStep() const {
  int64_t total = 0;
  for (const Launch &launch : launches)
    total += launch.bytes * timesPerStep(launch.function);
  return total;
}

int64_t Summary::launchesPerStep() const {
  int64_t total = 0;
  for (const Launch &launch : launches)
    total += timesPerStep(launch.function);
  return total;
}

std::vector<std::pair<std::string, int64_t>> MemorySummary::categories() const {
  std::vector<std::pair<std::string, int64_t>> used;
  for (size_t index = 0; index != memoryCategories; ++index)
    if (auto category = static_cast<MemoryCategory>(index); peak[category] != 0)
      used.push_back({categoryName(category).str(), peak[category]});
  llvm::sort(used, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  if (gaps != 0)
    used.push_back({"gaps", gaps});
  return used;
}

//===----------------------------------------------------------------------===//
// Between ranks
//===----------------------------------------------------------------------===//

/// The mesh of a module that has one of several ranks.
static std::optional<dist::Mesh> findMesh(mlir::ModuleOp module) {
  if (module.getOps<dist::MeshOp>().empty())
    return std::nullopt;
  mlir::FailureOr<dist::Mesh> mesh = dist::Mesh::of(module);
  if (failed(mesh) || mesh->numRanks() == 1)
    return std::nullopt;
  return std::move(*mesh);
}

/// What `op` sends, and the channel of its axes in `summary`.
static std::optional<LaunchTransfer> readTransfer(plan::LaunchOp op,
                                                  Summary &summary) {
  if (!summary.mesh)
    return std::nullopt;
  std::vector<dist::Transfer> all = dist::transfersIn(op, *summary.mesh);
  if (all.empty())
    return std::nullopt;
  assert(all.size() == 1 && "each is a launch of its own");
  const dist::Transfer &one = all.front();
  std::string axes = llvm::join(
      llvm::map_range(
          one.axes, [&](unsigned axis) { return (*summary.mesh)[axis].name; }),
      "+");
  auto channel = llvm::find(summary.channels, axes);
  size_t index = channel - summary.channels.begin();
  if (channel == summary.channels.end())
    summary.channels.push_back(axes);
  return LaunchTransfer{
      one.kind,    one.collective,        one.axes, index, one.bytes,
      one.seconds, !dist::isAsync(one.op)};
}

/// Finds the launches whose results `op` waits for. `begun` has, by buffer, the
/// launches that have begun to send.
static std::optional<size_t>
findAwaited(plan::LaunchOp op,
            const llvm::DenseMap<mlir::Value, size_t> &begun) {
  bool waits = false;
  op.getBody().walk([&](dist::WaitOp) { waits = true; });
  if (!waits)
    return std::nullopt;
  auto found = begun.find(op.getInputs().front());
  return found == begun.end() ? std::nullopt : std::optional(found->second);
}

/// Tokens of all ranks in a step: the elements of what is fed with them.
static int64_t countTokens(plan::ProgramOp program, const Summary &summary) {
  for (auto argument : program.getBody().getOps<plan::ArgumentOp>()) {
    if (argument.getRole() != "tokens")
      continue;
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    if (auto sharding = argument.getSharding(); sharding && summary.mesh)
      type = dist::wholeType(type, dist::toSharding(*sharding, *summary.mesh),
                             *summary.mesh);
    return type.getNumElements() * summary.microBatches;
  }
  return 0;
}

/// "ep-gather, drops none: 12.00 MiB ..., ep-all-to-all would send ...": what
/// dist-block-experts has taken, and what ranks would send otherwise.
static std::string describeExperts(mlir::ModuleOp module) {
  auto chosen = module->getAttrOfType<mlir::DictionaryAttr>(dist::expertsAttr);
  if (!chosen)
    return "";
  auto numberOf = [](mlir::DictionaryAttr from, StringRef key) {
    return from.getAs<mlir::FloatAttr>(key).getValueAsDouble();
  };
  auto sent = [&](StringRef key) {
    auto figures = chosen.getAs<mlir::DictionaryAttr>(key);
    return formatBytes(figures.getAs<mlir::IntegerAttr>("bytes").getInt()) +
           formatv(" in {0:F3} ms", numberOf(figures, "seconds") * 1e3).str();
  };
  double factor = numberOf(chosen, "factor");
  double enough = numberOf(chosen, "enough");
  std::string room =
      factor >= enough
          ? "drops none"
          : formatv("drops rows beyond {0} times an even routing", factor)
                .str();
  bool isGather =
      chosen.getAs<mlir::StringAttr>("lowering").getValue() == "gather";
  if (isGather)
    return formatv("ep-gather, drops none: {0} per micro-batch; "
                   "ep-all-to-all: {1}, {2} (--recipe=ep-all-to-all)",
                   sent("gather"), sent("all_to_all"), room)
        .str();
  return formatv("ep-all-to-all, {0}: {1} per micro-batch; ep-gather: {2}, "
                 "drops none (--recipe=ep-gather)",
                 room, sent("all_to_all"), sent("gather"))
      .str();
}

/// What a step of a stage sends, in the order of its list.
static std::vector<StageMessages> readMessages(plan::ProgramOp program,
                                               const Summary &summary) {
  if (!summary.stage)
    return {};
  const dist::Mesh &mesh = *summary.mesh;
  dist::Group link = mesh.group({*mesh.find(dist::stageAxis)});
  llvm::StringMap<int64_t> bytes; // of the arguments
  for (auto argument : program.getBody().getOps<plan::ArgumentOp>())
    bytes[(argument.getKind() + " " + argument.getFqn()).str()] =
        byteSize(argument.getType());
  std::vector<StageMessages> messages;
  for (auto list : program.getBody().getOps<plan::ActionsOp>())
    for (auto transfer : list.getBody().getOps<plan::TransferOp>()) {
      if (list.getName() != "step" ||
          transfer.getTransfer() != plan::Transfer::send)
        continue;
      std::string value = (transfer.getKind() + " " + transfer.getFqn()).str();
      int64_t stage = transfer.getPeer();
      auto found = llvm::find_if(messages, [&](const StageMessages &known) {
        return known.value == value && known.stage == stage;
      });
      if (found == messages.end())
        found = messages.insert(
            found, {value, stage, bytes.at(value),
                    dist::secondsOf(dist::CollectiveKind::shift, link,
                                    double(bytes.at(value)))});
      ++found->count;
    }
  return messages;
}

//===----------------------------------------------------------------------===//
// Reading the plan
//===----------------------------------------------------------------------===//

static Launch readLaunch(plan::LaunchOp op, StringRef function,
                         const TargetDescription &target) {
  Launch launch;
  launch.function = function.str();
  launch.name = labelOf(op);
  launch.module = modulePathOf(op);
  if (auto reason = op->getAttrOfType<mlir::StringAttr>(attr::reason))
    launch.reason = reason.str();
  launch.isRecomputed = op->hasAttr(attr::clone);
  launch.family = stringifyKernelFamily(op.getFamily()).str();
  launch.location = describeLocation(op.getLoc());
  OpCost cost = launchCost(op);
  launch.flops = cost.flops;
  launch.bytes = cost.bytesRead + cost.bytesWritten;
  llvm::SetVector<StringRef> names;
  llvm::SmallVector<mlir::Operation *> ops;
  op.getBody().walk([&](HoneOpInterface inner) {
    ops.push_back(inner);
    names.insert(inner->getName().stripDialect());
  });
  launch.ops = llvm::join(names, ", ");
  launch.time = kernelTime(ops, launch.bytes, target);
  return launch;
}

/// The last launch of `function` that writes an activation, or null: what comes
/// then are gradients.
static plan::LaunchOp findForwardEnd(plan::FunctionOp function) {
  plan::LaunchOp end;
  for (auto launch : function.getBody().getOps<plan::LaunchOp>())
    for (mlir::Value output : launch.getOutputs())
      if (plan::rootBuffer(output).getPurpose() == plan::Purpose::activations)
        end = launch;
  return end;
}

namespace {
/// Tells the passes of a step apart, and who makes activations.
class PassFinder {
public:
  explicit PassFinder(plan::ProgramOp program) {
    for (auto argument : program.getBody().getOps<plan::ArgumentOp>())
      if (argument.getKind() == kind::grad)
        gradients.insert(argument.getOffset());
  }

  void visit(plan::FunctionOp function);
  Pass passOf(plan::LaunchOp launch) const { return passes.lookup(launch); }
  bool endsForward(plan::LaunchOp launch) const {
    return ends.contains(launch);
  }
  /// Bytes of the activations that `launch` is the first to write.
  int64_t savedBy(plan::LaunchOp launch) const { return saved.lookup(launch); }

private:
  bool isGradient(plan::BufferOp buffer) const {
    return buffer.getPurpose() == plan::Purpose::gradients ||
           gradients.contains(buffer.getOffset());
  }

  llvm::DenseSet<int64_t> gradients; ///< offsets of arguments
  llvm::DenseMap<mlir::Operation *, Pass> passes;
  llvm::DenseMap<mlir::Operation *, int64_t> saved;
  llvm::DenseSet<mlir::Operation *> ends;
};
} // namespace

/// What reads gradients and makes none is of the update, and what reads what
/// that makes; the rest is forward up to the last activation.
void PassFinder::visit(plan::FunctionOp function) {
  plan::LaunchOp end = findForwardEnd(function);
  if (end)
    ends.insert(end);
  llvm::DenseSet<mlir::Operation *> updated, written;
  bool isForward = true, makesGradients = false;
  for (auto launch : function.getBody().getOps<plan::LaunchOp>()) {
    auto reads = [&](mlir::Value input) {
      plan::BufferOp root = plan::rootBuffer(input);
      return isGradient(root) || updated.contains(root);
    };
    auto writes = [&](mlir::Value output) {
      return isGradient(plan::rootBuffer(output));
    };
    bool makes = llvm::any_of(launch.getOutputs(), writes);
    bool updates = !makes && llvm::any_of(launch.getInputs(), reads);
    makesGradients |= makes;
    passes[launch] = updates     ? Pass::update
                     : isForward ? Pass::forward
                                 : Pass::backward;
    for (mlir::Value output : launch.getOutputs()) {
      plan::BufferOp root = plan::rootBuffer(output);
      if (updates)
        updated.insert(root);
      if (root.getPurpose() == plan::Purpose::activations &&
          written.insert(root).second)
        saved[launch] += plan::extentBytes(root.getType());
    }
    isForward &= launch != end;
  }
  // A function of its own: what else it computes is for the update.
  if (!end && !makesGradients && !updated.empty())
    for (auto launch : function.getBody().getOps<plan::LaunchOp>())
      passes[launch] = Pass::update;
}

/// Bytes and seconds in turn.
static std::vector<std::pair<double, double>> readCurve(mlir::ArrayAttr flat) {
  std::vector<double> values;
  if (flat)
    for (mlir::Attribute value : flat)
      if (auto number = mlir::dyn_cast<mlir::FloatAttr>(value))
        values.push_back(number.getValueAsDouble());
  std::vector<std::pair<double, double>> curve;
  for (size_t index = 0; index + 1 < values.size(); index += 2)
    curve.push_back({values[index], values[index + 1]});
  llvm::sort(curve);
  return curve;
}

/// Whether the optimizer's state of most elements, as moments, is f32.
static bool hasWideMoments(plan::ProgramOp program) {
  int64_t most = 1; // counts of steps have one
  bool isWide = false;
  for (auto argument : program.getBody().getOps<plan::ArgumentOp>()) {
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    if (argument.getKind() != kind::opt || type.getNumElements() <= most)
      continue;
    most = type.getNumElements();
    isWide = type.getElementType().isF32();
  }
  return isWide;
}

static MemorySummary readMemory(plan::ProgramOp program,
                                const MemoryTimeline &timeline) {
  auto module = program->getParentOfType<mlir::ModuleOp>();
  MemorySummary memory;
  memory.secondArena = program.getHost().value_or(0);
  // At multiples of 64 bytes.
  for (auto argument : program.getBody().getOps<plan::ArgumentOp>())
    if (!argument.getHost())
      memory.state[argument.getKind().str()] +=
          llvm::alignTo(argument.getEnd(), 64) - argument.getOffset();
  memory.hasWideMoments = hasWideMoments(program);
  memory.arena = timeline.arenaBytes();
  memory.peak = timeline.peakBytes();
  memory.gaps = timeline.gapBytes();
  memory.at = timeline.fullest();
  llvm::append_range(memory.tensors, timeline.tensorsAtPeak());
  memory.curve =
      readCurve(module->getAttrOfType<mlir::ArrayAttr>(attr::memoryCurve));
  if (auto bytes = module->getAttrOfType<mlir::IntegerAttr>(attr::memoryBudget))
    memory.budget = bytes.getInt();
  return memory;
}

Summary hone::report::summarize(plan::ProgramOp program, int64_t microBatches,
                                const TargetDescription &target) {
  Summary summary;
  auto module = program->getParentOfType<mlir::ModuleOp>();
  auto model = module->getAttrOfType<mlir::StringAttr>(attr::model);
  summary.model = model ? model.str() : program.getSymName().str();
  if (auto name = module->getAttrOfType<mlir::StringAttr>(attr::precision))
    summary.precision = name.str();
  summary.microBatches = microBatches;
  summary.mesh = findMesh(module);
  summary.experts = describeExperts(module);
  summary.tokens = countTokens(program, summary);
  if (auto stage = program.getStage())
    summary.stage = int64_t(*stage);
  summary.messages = readMessages(program, summary);
  MemoryTimeline timeline(program);
  summary.memory = readMemory(program, timeline);
  PassFinder passes(program);
  llvm::DenseMap<mlir::Value, size_t> begun;
  for (auto function : program.getBody().getOps<plan::FunctionOp>()) {
    passes.visit(function);
    CopyCost copies = timeCopies(function, target);
    summary.copies.add(copies, summary.timesPerStep(function.getSymName()));
    if (copies.up + copies.down > 0)
      summary.waits.emplace_back(function.getSymName(), copies.exposed);
  }
  for (MemoryPoint point : timeline.points()) {
    Launch launch =
        readLaunch(point.launch, point.function.getSymName(), target);
    launch.pass = passes.passOf(point.launch);
    launch.endsForward = passes.endsForward(point.launch);
    launch.saved = passes.savedBy(point.launch);
    launch.live = point.live;
    launch.transfer = readTransfer(point.launch, summary);
    launch.waitsFor = findAwaited(point.launch, begun);
    if (launch.transfer && !launch.transfer->isWaitedFor)
      begun[point.launch.getOutputs().front()] = summary.launches.size();
    if (!summary.launches.empty() &&
        summary.launches.back().function == launch.function)
      launch.number = summary.launches.back().number + 1;
    summary.launches.push_back(std::move(launch));
  }
  return summary;
}
