//===- StageSchedule.cpp - The schedule of a module with stages -----------===//

#include "hone/Analysis/Pipeline/StageSchedule.h"

#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hone;
using namespace hone::pipeline;

static int64_t numberOf(ModuleOp module, StringRef name, int64_t otherwise) {
  auto number = module->getAttrOfType<IntegerAttr>(name);
  return number ? number.getInt() : otherwise;
}

FailureOr<Schedule> hone::pipeline::readStageSchedule(ModuleOp module) {
  auto text = module->getAttrOfType<StringAttr>(dist::scheduleAttr);
  if (!text)
    return module.emitError("has stages and no ") << dist::scheduleAttr;
  int64_t stages = numberOf(module, dist::stagesAttr, 0);
  if (stages < 1)
    return module.emitError("has a schedule of stages and no ")
           << dist::stagesAttr;
  llvm::Expected<Schedule> schedule = makeStageSchedule(
      text, int(stages), int(numberOf(module, attr::microBatches, 1)));
  if (!schedule)
    return module.emitError(llvm::toString(schedule.takeError()));
  return std::move(*schedule);
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

/// Whether each forward action of `chunk`, the last, is followed by the one
/// that computes the gradient of its input, before any other.
static bool findsTurnsAtOnce(const Schedule &schedule, int chunk) {
  if (schedule.shape.contains(chunk + 1))
    return false;
  std::optional<int> open; // the micro-batch between the two
  for (const Action &action : schedule.ranks[schedule.shape.rankOf(chunk)]) {
    if (isTransfer(action.kind))
      continue;
    bool closes = action.chunk == chunk && computesInputGradient(action.kind);
    if (open && (!closes || *open != action.micro))
      return false;
    open.reset();
    if (action.chunk == chunk && action.kind == ActionKind::Forward)
      open = action.micro;
  }
  return !open;
}

SmallVector<StageTurns, 0> StageTurns::of(const Schedule &schedule) {
  SmallVector<StageTurns, 0> all;
  for (auto [chunk, windows] : llvm::enumerate(countWindows(schedule)))
    all.push_back({int64_t(chunk), windows,
                   findsTurnsAtOnce(schedule, int(chunk)),
                   schedule.splitsBackward()});
  return all;
}

SmallVector<StringRef, 3> StageTurns::functions() const {
  SmallVector<StringRef, 3> names = {turnsAtOnce ? "accumulate" : "forward"};
  if (!turnsAtOnce)
    names.push_back(splitsBackward ? "backward_input" : "backward");
  if (splitsBackward)
    names.push_back("backward_weight");
  return names;
}

/// "gradient in" as "gradient_in".
static std::string keyOf(int window) {
  std::string key = windowName(WindowClass(window)).str();
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

DictionaryAttr StageTurns::toAttr(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList entries;
  entries.set("functions", builder.getStrArrayAttr(functions()));
  for (int window = 0; window != windowClasses; ++window)
    if (int count = windows[WindowClass(window)])
      entries.set(keyOf(window), builder.getI64IntegerAttr(count));
  return entries.getDictionary(context);
}

FailureOr<StageTurns> StageTurns::read(ModuleOp stage) {
  auto entries = stage->getAttrOfType<DictionaryAttr>(dist::turnsAttr);
  auto functions =
      entries ? entries.getAs<ArrayAttr>("functions") : ArrayAttr();
  StageTurns turns;
  turns.stage = numberOf(stage, dist::stageAttr, -1);
  if (functions) {
    auto has = [&](StringRef name) {
      return llvm::is_contained(functions,
                                StringAttr::get(stage.getContext(), name));
    };
    turns.turnsAtOnce = has("accumulate");
    turns.splitsBackward = has("backward_weight");
  }
  for (int window = 0; functions && window != windowClasses; ++window)
    if (auto count = entries.getAs<IntegerAttr>(keyOf(window)))
      turns.windows[WindowClass(window)] = count.getInt();
  if (functions && turns.stage >= 0 &&
      turns.toAttr(stage.getContext()) == entries)
    return turns;
  return stage.emitError("is no stage, expected ")
         << dist::stageAttr << " and " << dist::turnsAttr
         << " as dist-split-stages writes them";
}
