//===- StepValues.h - What steps are told, and what they show ---*- C++ -*-===//
//
// Scalars, random key and results of a step in the view of the arena, and what
// a step must satisfy: the same for the training loop and for a caller that
// makes its own (in_process/).
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_TRAIN_STEPVALUES_H
#define HONERT_TRAIN_STEPVALUES_H

#include "base/Arena.h"
#include "program/Program.h"

#include <optional>

namespace honert {

/// Rows on the way to their experts.
struct RowCount {
  int64_t dropped = 0, rows = 0; ///< those without a place; all
};
/// "dropped 12 of 4096 rows (0.29 %)".
std::string droppedText(const RowCount &count);

/// What one step showed.
struct StepFacts {
  int64_t step = 0;
  double loss = 0;
  std::optional<double> gradNorm;
  std::optional<double> learningRate;
  std::optional<double> lossScale; ///< after the step, where there is one
  bool skipped = false;            ///< gradients overflowed: nothing changed
  std::optional<RowCount> dropped, droppedSoFar; ///< of the step, of the run
  double seconds = 0;
};

/// Writes the scalar `name`, where the program has it.
void writeScalar(const Program &program, Arena &arena, const char *name,
                 double value);
/// Writes the bound of the gradient norm; 0: none.
void writeClip(const Program &program, Arena &arena, double clip);
/// Writes the random key of a micro-batch, where the program draws numbers.
void writeKey(const Program &program, Arena &arena, uint64_t seed, int64_t step,
              int64_t micro);

/// Loss and gradient norm of the latest step that was collected.
void readFacts(const Program &program, const Arena &arena, StepFacts &facts);

// In the errors below, `ending` says what follows from them; "": nothing.

/// No check of ids has found one outside its table: in what `function` left, or
/// the micro-batches of a step. `when` and `number` name the step.
Status checkIds(const Program &program, const Arena &arena,
                const Function &function, const char *when, int64_t number,
                const std::string &ending);
/// What a step that was made must satisfy: a loss and a norm that are finite.
/// With a loss scale, one whose gradients overflow is skipped by the program,
/// which shrinks the scale; below the smallest one that was of use no step will
/// come.
Status checkStep(const Program &program, const Arena &arena, StepFacts &facts,
                 const std::string &ending);

} // namespace honert

#endif // HONERT_TRAIN_STEPVALUES_H
