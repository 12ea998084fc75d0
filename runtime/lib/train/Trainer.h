//===- Trainer.h - The training loop --------------------------------------===//

#ifndef HONERT_TRAIN_TRAINER_H
#define HONERT_TRAIN_TRAINER_H

#include "exec/Executor.h"
#include "io/checkpoint/Folder.h"
#include "io/data/Batches.h"
#include "io/data/NamedInputs.h"
#include "train/DroppedRows.h"
#include "train/Generate.h"
#include "train/Report.h"
#include "train/StageTransfers.h"
#include "train/StepTimes.h"
#include "train/options/Options.h"

#include <deque>

namespace honert {

/// One run of a program: start or resume, steps, validation, saving.
class Trainer {
public:
  /// `world` has a process for each rank of the program.
  Trainer(const Program &program, const Options &options,
          const ThreadPool &pool, ProcessGroup &world);

  Status run();
  /// Whether run() could start, by one process for all: flags, files, and the
  /// checkpoint that it would go on from.
  Status check();

private:
  Status runSteps();

  // Preparation: everything that can fail for a reason of the user's fails
  // here, before the first step. What one rank finds wrong ends all.
  Status checkFiles();
  Status checkOutputs();
  Status openStream(Batches &stream, const std::vector<TokenSource> &sources,
                    bool shuffle);
  Status openInputs();
  Status startFresh();
  Status noteFacts();
  void reportChanges();
  Options actualOptions() const;
  Status checkPosition(const RunPosition &position) const;
  Status continueFrom(const RunPosition &position);
  Status startOrResume();
  void printHeader();
  void printData();
  void noteCrossedDocuments();
  std::string dataJson() const;
  double passesOver(size_t source) const;

  // Steps. On a GPU one runs while the next is on its way: `inFlight`.
  void writeScalars(int64_t step);
  Status loadInputs(int64_t microStep);
  Status launchStep(int64_t step);
  Status launchActions(int64_t step);
  Status finishStep();
  void noticeLoad(std::chrono::steady_clock::time_point now);
  Status finishSteps(size_t left);
  bool pausesAfter(int64_t step) const;
  bool onlyPrints() const;
  Status noticeReasonsToStop();
  bool timesLaunches(int64_t step) const;
  Status train();

  // Between steps, and at the end (TrainerOutputs.cpp).
  Status pause(int64_t step);
  Status checkReplicas(int64_t step);
  Status loadValidation(int64_t index);
  Status evaluate(int64_t index, double &loss);
  Status evaluateStages(int64_t index, double &loss);
  Status validate(int64_t step);
  Status sample(int64_t step);
  Status checkpoint(int64_t step);
  bool isBest() const;
  Status markBest(int64_t step);
  int64_t dataTokens() const;
  Status dump(int64_t step);
  Status writeProfile();
  bool isAlreadyComplete() const;
  std::string summaryText() const;
  std::string resumeText() const;
  Status finish();

  double readScalar(DType dtype, int64_t offset) {
    return loadElement(dtype, executor->arena().at(offset));
  }

  const Program &program;
  const Options &options;
  const ThreadPool &pool;
  ProcessGroup &world;
  std::unique_ptr<Executor> executor;
  Report report;
  DroppedRows dropped;
  Batches batches, validationBatches;
  NamedInputs named, validationNamed;
  std::optional<Generator> generator;      // with --sample-every
  std::optional<StageTransfers> transfers; // of a stage
  std::optional<CheckpointFolder> checkpoints;
  std::vector<std::pair<std::string, std::string>> settings; // for checkpoints

  struct StepInFlight {
    int64_t step;
    std::chrono::steady_clock::time_point start;
  };

  uint64_t seed;
  std::deque<StepInFlight> inFlight;
  std::chrono::steady_clock::time_point lastEnd; // of a step
  int64_t doneSteps = 0;      // the last step that was finished
  std::string origin;         // where the weights come from, in words
  int64_t firstStep = 1;      // of this process
  int64_t savedStep = -1;     // of the newest checkpoint
  int64_t validatedStep = -1; // of the last validation
  std::optional<double> lastLoss, lastValidation;
  std::optional<double> bestValidation; // of the checkpoints, with --keep-best
  StepTimes times;                      // of steps that are profiled
  /// Beside signals: data of some rank is not what it was.
  static constexpr int badInputs = 127;
  int stoppedBy = 0; // the signal that ends the run; equal on all ranks
  Status dataStatus; // of this rank's data files
  bool toldReaderIsGone = false, toldLoad = false;
  std::chrono::steady_clock::time_point loadSeen; // when it was looked at
  bool hadTrouble = false; // something was not written: exit code 1
  std::chrono::steady_clock::time_point begin;
};

} // namespace honert

#endif // HONERT_TRAIN_TRAINER_H
