//===- DroppedRows.h - Rows of experts without a place ----------*- C++ -*-===//

#ifndef HONERT_TRAIN_DROPPEDROWS_H
#define HONERT_TRAIN_DROPPEDROWS_H

#include "program/ProcessGroup.h"
#include "train/StepValues.h"

#include <functional>
#include <map>

namespace honert {

/// Counts, over a run, the rows that had no place on the way to their experts
/// (honert_dropped_rows): all ranks count those of all.
class DroppedRows {
public:
  DroppedRows(const Program &program, ProcessGroup &world);

  /// Whether rows of this program can be dropped.
  bool isCounted() const { return isOfProgram; }
  /// Adds those of the latest step. Drops are an error where the program says
  /// so, the same on all ranks; `ending` says what follows.
  Status addStep(const Arena &arena, StepFacts &facts,
                 const std::string &ending);
  /// Reads what a function of a validation batch left: another may write over
  /// it.
  void readBatch(const Arena &arena, const Function &function);
  /// Adds what was read of a validation batch.
  Status addBatch(int64_t index, const std::string &ending);
  /// " | dropped 12 of 4096 rows (0.3 %), most ..."; "" where none is counted.
  std::string summaryText() const;

private:
  /// Where a count lies, or -1.
  using PlaceOf = std::function<int64_t(const DroppedCount &)>;
  void read(const Arena &arena, const PlaceOf &placeOf, int64_t micro);
  Status add(const std::string &when, const std::string &ending);
  Status share(RowCount &count);
  Status refuse(const RowCount &count, const std::string &when,
                const std::string &ending) const;

  const Program &program;
  ProcessGroup &world;
  bool isOfProgram, stops = false;
  DroppedCount roomiest;                 ///< needs the largest factor
  RowCount open, latest, all;            ///< read; of the last call; of the run
  std::map<std::string, int64_t> places; ///< those dropped, by source line
};

} // namespace honert

#endif // HONERT_TRAIN_DROPPEDROWS_H
