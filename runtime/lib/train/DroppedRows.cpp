//===- DroppedRows.cpp - Rows of experts without a place ------------------===//

#include "train/DroppedRows.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace honert;

/// Those of all stages.
static std::vector<DroppedCount> countsOf(const Program &program) {
  std::vector<DroppedCount> all = program.droppedCounts;
  for (const Program &stage : program.stages)
    all.insert(all.end(), stage.droppedCounts.begin(),
               stage.droppedCounts.end());
  return all;
}

DroppedRows::DroppedRows(const Program &program, ProcessGroup &world)
    : program(program), world(world) {
  std::vector<DroppedCount> counts = countsOf(program.whole());
  isOfProgram = !counts.empty();
  for (const DroppedCount &count : counts) {
    stops |= count.stops;
    if (roomiest.name.empty() || count.enough > roomiest.enough)
      roomiest = count;
  }
}

/// Ranks of a pipeline count the rows of their own stage.
Status DroppedRows::share(RowCount &count) {
  if (!program.isStage())
    return Status();
  std::vector<RowCount> every(static_cast<size_t>(world.size()));
  HONERT_TRY(world.allGather(&count, sizeof count, every.data()));
  auto perStage =
      world.size() / static_cast<int64_t>(program.whole().stages.size());
  count = {};
  for (const RowCount &each : every) {
    count.dropped += each.dropped;
    count.rows += each.rows;
  }
  count.dropped /= perStage;
  count.rows /= perStage;
  return Status();
}

std::string honert::droppedText(const RowCount &count) {
  double percent =
      100 * double(count.dropped) / double(std::max<int64_t>(1, count.rows));
  return format(percent < 10 ? "dropped %lld of %lld rows (%.2g %%)"
                             : "dropped %lld of %lld rows (%.0f %%)",
                static_cast<long long>(count.dropped),
                static_cast<long long>(count.rows), percent);
}

Status DroppedRows::refuse(const RowCount &count, const std::string &when,
                           const std::string &ending) const {
  return Status::error(format(
      "%s: %lld of %lld rows had no place on the way to their experts, "
      "expected none (--moe-overflow=error); %s. Compile with a --moe-factor "
      "above %g (%g drops none, whatever the routing), with "
      "--recipe=ep-gather in place of ep-all-to-all, or with "
      "--moe-overflow=drop",
      when.c_str(), static_cast<long long>(count.dropped),
      static_cast<long long>(count.rows), ending.c_str(), roomiest.factor,
      roomiest.enough));
}

void DroppedRows::read(const Arena &arena, const PlaceOf &placeOf,
                       int64_t micro) {
  for (const DroppedCount &count : program.droppedCounts) {
    int64_t place = placeOf(count), dropped = 0;
    if (place < 0)
      continue;
    std::memcpy(&dropped, arena.at(place), sizeof dropped);
    open.dropped += dropped;
    open.rows += micro * count.rows;
    if (dropped != 0)
      places[count.location] += dropped;
  }
}

Status DroppedRows::add(const std::string &when, const std::string &ending) {
  latest = std::exchange(open, {});
  HONERT_TRY(share(latest));
  all.dropped += latest.dropped;
  all.rows += latest.rows;
  return stops && latest.dropped != 0 ? refuse(latest, when, ending) : Status();
}

Status DroppedRows::addStep(const Arena &arena, StepFacts &facts,
                            const std::string &ending) {
  if (!isOfProgram)
    return Status();
  const Function *step = program.function("step");
  auto placeOf = [&](const DroppedCount &count) -> int64_t {
    if (step) {
      const Result *result = step->result(count.name);
      return result ? result->offset : -1;
    }
    const Argument *running = program.argument(Kind::scalar, count.name);
    return running ? running->offset : -1;
  };
  read(arena, placeOf, step ? 1 : program.microBatches());
  Status added =
      add(format("step %lld", static_cast<long long>(facts.step)), ending);
  facts.dropped = latest;
  facts.droppedSoFar = all;
  return added;
}

void DroppedRows::readBatch(const Arena &arena, const Function &function) {
  read(
      arena,
      [&](const DroppedCount &count) -> int64_t {
        const Result *result = function.result(count.name);
        return result ? result->offset : -1;
      },
      1);
}

Status DroppedRows::addBatch(int64_t index, const std::string &ending) {
  if (!isOfProgram)
    return Status();
  return add(format("validation batch %lld", static_cast<long long>(index)),
             ending);
}

std::string DroppedRows::summaryText() const {
  if (!isOfProgram || all.rows == 0)
    return "";
  std::string text = " | " + droppedText(all);
  auto most = std::max_element(
      places.begin(), places.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  // Of a pipeline the first rank knows those of its own stage alone.
  if (most != places.end() && !most->first.empty() && !program.isStage())
    text += format(", most (%lld) in %s", static_cast<long long>(most->second),
                   most->first.c_str());
  return text;
}
