//===- StageSchedule.cpp - The schedule of a module with stages -----------===//

#include "hone/Analysis/Pipeline/StageSchedule.h"

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/Generate.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/Sharding/IR/Dist.h"

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
    return module.emitError("has stages but no ") << dist::scheduleAttr;
  int64_t stages = numberOf(module, dist::stagesAttr, 0);
  int64_t micro = numberOf(module, attr::microBatches, 1);
  auto error = [&]() {
    return module.emitError() << dist::scheduleAttr << ": ";
  };
  llvm::Expected<ScheduleChoice> choice = parseScheduleChoice(text.getValue());
  if (choice) {
    if (choice->chunksPerRank != 1)
      return error() << text << " has " << choice->chunksPerRank
                     << " chunks per rank, expected one, a stage";
    return placeTransfers(generateSchedule(*choice, stages, micro));
  }
  llvm::consumeError(choice.takeError());
  llvm::Expected<Schedule> lists = readCsv(text.getValue(), "lists");
  if (!lists)
    return error() << llvm::toString(lists.takeError());
  const Shape &shape = lists->shape;
  if (shape.ranks != stages || shape.chunksPerRank != 1 ||
      shape.microBatches != micro)
    return error() << "the lists are of " << shape.ranks << " ranks, "
                   << shape.chunks() << " chunks and " << shape.microBatches
                   << " micro-batches, expected " << stages << " ranks with one"
                   << " chunk each, and " << micro << " micro-batches";
  Schedule schedule =
      lists->hasTransfers() ? std::move(*lists) : placeTransfers(*lists);
  if (std::optional<Violation> violation = checkSchedule(schedule))
    return error() << violation->message;
  return schedule;
}

bool hone::pipeline::turnsAtOnce(const Schedule &schedule, int chunk) {
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
