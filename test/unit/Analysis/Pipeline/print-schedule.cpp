//===- print-schedule.cpp - Schedules of pipelines as text ----------------===//
//
//   print-schedule FORM SCHEDULE RANKS MICRO-BATCHES
//   print-schedule FORM FILE.csv
//
// FORM is
//   compute    CSV without sends and receives
//   csv        CSV with them, as placeTransfers has them
//   blocking   the same, each receive directly before its reader: for those who
//              wait where a list has a receive
//   svg        a picture
// Checks the schedule first. For test/python/test_pipeline_schedules.py and
// test/Analysis/Pipeline.
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/Generate.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/Support/ParseFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace hone;
using namespace hone::pipeline;
using llvm::Expected;
using llvm::StringRef;

static Expected<Schedule> readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path + ": " + buffer.getError().message());
  Expected<Schedule> schedule = readCsv((*buffer)->getBuffer(), path);
  if (schedule && !schedule->hasTransfers())
    return placeTransfers(std::move(*schedule));
  return schedule;
}

static Expected<Schedule> generate(StringRef name, StringRef ranks,
                                   StringRef microBatches) {
  Expected<ScheduleChoice> choice = parseScheduleChoice(name);
  if (!choice)
    return choice.takeError();
  int counts[2];
  for (auto [text, count] :
       {std::tie(ranks, counts[0]), std::tie(microBatches, counts[1])})
    if (text.getAsInteger(10, count) || count < 1)
      return makeError("'" + text + "', expected an integer of at least 1");
  return placeTransfers(generateSchedule(*choice, counts[0], counts[1]));
}

static Schedule withoutTransfers(Schedule schedule) {
  for (std::vector<Action> &list : schedule.ranks)
    llvm::erase_if(
        list, [](const Action &action) { return isTransfer(action.kind); });
  return schedule;
}

static bool print(StringRef form, const Schedule &schedule,
                  llvm::raw_ostream &out) {
  if (form == "svg")
    writeSvg(schedule,
             runSchedule(schedule,
                         equalSeconds(schedule, ChunkSeconds::of(1, 1, 1))),
             out);
  else if (form == "csv")
    writeCsv(schedule, out);
  else if (form == "compute")
    writeCsv(withoutTransfers(schedule), out);
  else if (form == "blocking")
    writeCsv(placeTransfers(withoutTransfers(schedule), /*ahead=*/0), out);
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 5) {
    printError("expected FORM SCHEDULE RANKS MICRO-BATCHES, or FORM FILE.csv");
    return 2;
  }
  Expected<Schedule> schedule =
      argc == 3 ? readFile(argv[2]) : generate(argv[2], argv[3], argv[4]);
  if (!schedule) {
    printError(schedule.takeError());
    return 1;
  }
  if (std::optional<Violation> found =
          checkSchedule(*schedule, /*windows=*/{})) {
    printError(schedule->name + ": " + found->message);
    return 1;
  }
  if (print(argv[1], *schedule, llvm::outs()))
    return 0;
  printError(llvm::Twine(argv[1]) +
             ": expected the form compute, csv, blocking or svg");
  return 2;
}
