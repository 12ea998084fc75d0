//===- Report.h - What a run tells its user -------------------------------===//

#ifndef HONERT_TRAIN_REPORT_H
#define HONERT_TRAIN_REPORT_H

#include "program/ProcessGroup.h"
#include "program/Program.h"
#include "train/EventFile.h"
#include "train/RunLog.h"
#include "train/StatusLines.h"
#include "train/StepValues.h"
#include "train/options/Options.h"

#include <array>
#include <chrono>
#include <optional>

namespace honert {

/// Step lines on stdout (two that are drawn over, on a terminal) and JSON lines
/// in the log and scalars for TensorBoard, by the first rank for all: the
/// others write nothing. Speeds are those of all ranks together.
class Report {
public:
  Report(const Program &program, const Options &options,
         const ProcessGroup &world);
  ~Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  /// Opens log and event file, for a run that goes on after `doneSteps` if it
  /// resumes. `actual` is `options` with what the run has found out, `data`
  /// what it has of the sources of --data, as JSON, or empty.
  Status open(int64_t doneSteps, const Options &actual,
              const std::string &data);

  /// What speeds are computed from. Zero: unknown, the figure is left out.
  void setTokens(int64_t perStep, int64_t perEpoch) {
    tokensPerStep = perStep;
    tokensPerEpoch = perEpoch;
  }
  /// FLOP/s of one rank; `origin` says of what, and who knows.
  void setPeak(double flops, const char *origin);
  /// The line that explains MFU; empty if it is not shown.
  std::string mfuFormula() const;

  void step(const StepFacts &facts);
  void validation(int64_t step, double loss);
  /// A text that the weights after that step continue.
  void sample(int64_t step, const std::string &text);
  /// A checkpoint of that step was committed.
  void checkpoint(int64_t step, const std::string &path);
  /// The run has ended after that step, for that reason.
  void end(int64_t step, const std::string &reason);
  /// A line of its own, above the status lines; left out when quiet.
  void line(const std::string &text);
  /// A line on standard error, above the status lines.
  void warning(const std::string &text);
  /// On a terminal, before the first step: how far what `text` names has come,
  /// in a line that the next one replaces; 1 removes it.
  void progress(const std::string &text, double fraction);
  /// Ends the status lines; the summary is printed in any case.
  void summary(const std::string &text);
  /// Median seconds of the latest `most` steps (1024 at most); 0 if there was
  /// none.
  double medianSeconds(size_t most = 1024) const;
  double tokensPerSecond(double seconds) const;
  /// False if a line of the log, or a point for TensorBoard, was lost.
  bool logIsComplete() const { return !logFailed; }

private:
  std::string valuesText(const StepFacts &facts) const;
  std::string speedText(const StepFacts &facts) const;
  std::string barText(int64_t step) const;
  bool isDue(int64_t step, int64_t every) const;
  void showStep(const StepFacts &facts);
  void logStep(const StepFacts &facts);
  Status openLog(int64_t doneSteps, const Options &actual,
                 const std::string &data);
  void writeLog(int64_t step, const std::string &members);
  void writeScalars(int64_t step, const std::vector<Scalar> &scalars);
  std::string lossText(double loss) const;

  const Program &program;
  const Options &options;
  bool isSilent;
  int64_t ranks;
  int64_t tokensPerStep = 0, tokensPerEpoch = 0;
  double flopsPerStep, modelFlopsPerToken;
  double peakFlops = 0; // of one rank
  const char *peakOrigin = "";
  bool lossIsDouble; // else it has the bits of a float
  int64_t printEvery;
  StatusLines status;
  std::vector<std::string> statusText; // of the latest step
  std::chrono::steady_clock::time_point drawnAt;
  std::array<double, 1024> seconds; // of the latest steps, in a ring
  size_t stepsSeen = 0;
  RunLog log;
  EventFile events;
  bool logFailed = false;
  std::chrono::steady_clock::time_point started; // of this process's lines
};

} // namespace honert

#endif // HONERT_TRAIN_REPORT_H
