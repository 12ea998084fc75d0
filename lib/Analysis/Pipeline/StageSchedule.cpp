//===- StageSchedule.cpp - The schedule of a module with stages -----------===//

#include "hone/Analysis/Pipeline/StageSchedule.h"

#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/Builders.h"

#include <set>

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
  int64_t chunks = numberOf(module, dist::chunksAttr, stages);
  if (chunks % stages != 0)
    return module.emitError("has ")
           << chunks << " chunks (" << dist::chunksAttr
           << "), expected as many in each of " << stages << " stages";
  llvm::Expected<Schedule> schedule =
      makeStageSchedule(text, int(stages), int(chunks / stages),
                        int(numberOf(module, attr::microBatches, 1)));
  if (!schedule)
    return module.emitError(llvm::toString(schedule.takeError()));
  return std::move(*schedule);
}

//===----------------------------------------------------------------------===//
// Chunks
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

/// By chunk: the chunks whose backward actions run together with its forward
/// ones, ascending; and whether its backward ones run so.
static std::pair<std::vector<std::set<int64_t>>, std::vector<bool>>
findOverlaps(const Schedule &schedule) {
  size_t chunks = size_t(schedule.shape.chunks());
  std::vector<std::set<int64_t>> overlaps(chunks);
  std::vector<bool> overlapped(chunks);
  for (ArrayRef<Action> list : schedule.ranks)
    for (auto [position, action] : llvm::enumerate(list))
      if (action.overlapsNext) {
        int backward = list[position + 1].chunk;
        overlaps[size_t(action.chunk)].insert(backward);
        overlapped[size_t(backward)] = true;
      }
  return {overlaps, overlapped};
}

SmallVector<StageTurns, 0> StageTurns::of(const Schedule &schedule) {
  const Shape &shape = schedule.shape;
  SmallVector<StageTurns, 0> all(shape.ranks);
  auto [overlaps, overlapped] = findOverlaps(schedule);
  for (auto [chunk, windows] : llvm::enumerate(countWindows(schedule)))
    all[shape.rankOf(int(chunk))].chunks.push_back(
        {nameChunk(shape, int(chunk)), windows,
         findsTurnsAtOnce(schedule, int(chunk)), schedule.splitsBackward(),
         llvm::to_vector<2>(overlaps[chunk]), overlapped[chunk]});
  return all;
}

const ChunkTurns *StageTurns::find(StringRef function) const {
  StringRef name = dist::functionWithoutChunk(function);
  for (const ChunkTurns &turns : chunks)
    if (turns.chunk.function(name) == function)
      return &turns;
  return nullptr;
}

const ChunkTurns *StageTurns::find(int64_t chunk) const {
  const auto *found = llvm::find_if(chunks, [&](const ChunkTurns &turns) {
    return turns.chunk.number == chunk;
  });
  return found == chunks.end() ? nullptr : found;
}

SmallVector<StringRef, 3> ChunkTurns::functions() const {
  SmallVector<StringRef, 3> names = {turnsAtOnce ? "accumulate" : "forward"};
  if (!turnsAtOnce)
    names.push_back(splitsBackward ? "backward_input" : "backward");
  if (splitsBackward)
    names.push_back("backward_weight");
  return names;
}

//===----------------------------------------------------------------------===//
// As an attribute
//===----------------------------------------------------------------------===//

constexpr llvm::StringLiteral chunkKey = "chunk", functionsKey = "functions",
                              overlapsKey = "overlaps",
                              overlappedKey = "overlapped";

/// "gradient in" as "gradient_in".
static std::string keyOf(int window) {
  std::string key = windowName(WindowClass(window)).str();
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

DictionaryAttr ChunkTurns::toAttr(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList entries;
  if (!chunk.isStage)
    entries.set(chunkKey, builder.getI64IntegerAttr(chunk.number));
  entries.set(functionsKey, builder.getStrArrayAttr(functions()));
  for (int window = 0; window != windowClasses; ++window)
    if (int count = windows[WindowClass(window)])
      entries.set(keyOf(window), builder.getI64IntegerAttr(count));
  if (!overlaps.empty())
    entries.set(overlapsKey, builder.getDenseI64ArrayAttr(overlaps));
  if (isOverlapped)
    entries.set(overlappedKey, builder.getUnitAttr());
  return entries.getDictionary(context);
}

Attribute StageTurns::toAttr(MLIRContext *context) const {
  SmallVector<Attribute> all;
  for (const ChunkTurns &turns : chunks)
    all.push_back(turns.toAttr(context));
  if (chunks.size() == 1 && chunks.front().chunk.isStage)
    return all.front();
  return ArrayAttr::get(context, all);
}

/// What toAttr wrote; without functions where `entries` are no such.
static ChunkTurns readChunk(DictionaryAttr entries, int64_t stage) {
  ChunkTurns turns;
  auto number = entries.getAs<IntegerAttr>(chunkKey);
  turns.chunk = {number ? number.getInt() : stage, !number};
  auto functions = entries.getAs<ArrayAttr>(functionsKey);
  auto has = [&](StringRef name) {
    return functions &&
           llvm::is_contained(functions,
                              StringAttr::get(entries.getContext(), name));
  };
  turns.turnsAtOnce = has("accumulate");
  turns.splitsBackward = has("backward_weight");
  for (int window = 0; window != windowClasses; ++window)
    if (auto count = entries.getAs<IntegerAttr>(keyOf(window)))
      turns.windows[WindowClass(window)] = count.getInt();
  if (auto overlaps = entries.getAs<DenseI64ArrayAttr>(overlapsKey))
    llvm::append_range(turns.overlaps, overlaps.asArrayRef());
  turns.isOverlapped = entries.contains(overlappedKey);
  return turns;
}

FailureOr<StageTurns> StageTurns::read(ModuleOp stage) {
  Attribute attr = stage->getAttr(dist::turnsAttr);
  int64_t number = numberOf(stage, dist::stageAttr, -1);
  StageTurns turns;
  if (auto entries = dyn_cast_or_null<DictionaryAttr>(attr))
    turns.chunks.push_back(readChunk(entries, number));
  else if (auto all = dyn_cast_or_null<ArrayAttr>(attr))
    for (Attribute one : all)
      if (auto entries = dyn_cast<DictionaryAttr>(one))
        turns.chunks.push_back(readChunk(entries, number));
  if (number >= 0 && !turns.chunks.empty() &&
      turns.toAttr(stage.getContext()) == attr)
    return turns;
  return stage.emitError("is no stage, expected ")
         << dist::stageAttr << " and " << dist::turnsAttr
         << " as dist-split-stages writes them";
}
