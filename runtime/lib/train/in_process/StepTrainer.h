//===- StepTrainer.h - Training whose loop is the caller's ------*- C++ -*-===//

#ifndef HONERT_TRAIN_IN_PROCESS_STEPTRAINER_H
#define HONERT_TRAIN_IN_PROCESS_STEPTRAINER_H

#include "exec/Executor.h"
#include "honert/trainer.h"
#include "io/checkpoint/Folder.h"
#include "train/StepValues.h"
#include "train/in_process/CallerInputs.h"

namespace honert {

/// One run of a program of one rank, whose steps a caller asks for: what
/// honert/trainer.h says of its functions. Each call sets what threads of this
/// process need, and puts it back (CallerThread).
class StepTrainer {
public:
  /// What `options` points to is copied.
  StepTrainer(const Program &program, const honert_trainer_options &options);
  StepTrainer(const StepTrainer &) = delete;
  StepTrainer &operator=(const StepTrainer &) = delete;

  /// Allocates, loads or generates the state.
  Status open();

  Status step(const honert_tensor *const *tensors, int64_t count,
              StepFacts &facts);
  Status evaluate(const honert_tensor *const *tensors, int64_t count,
                  double &loss);
  Status setScalar(const std::string &name, double value);
  Status getScalar(const std::string &name, double &value);

  const std::vector<honert_named_tensor> &tensors() const { return named; }
  Status fetch(int64_t index);
  Status publish(int64_t index);

  Status load(const std::string &path);
  Status save(const std::string &path);
  Status checkpoint();

  /// Children of it have neither its threads nor its device: there nothing may
  /// be called, not even the destructor.
  bool isOfThisProcess() const;

  int64_t steps() const { return doneSteps; }
  std::string infoText() const;

private:
  /// A tensor of files in the state.
  struct StateTensor {
    const Argument *argument;
    const Part *part;
    std::string aliases;
    Shape strides;
  };
  struct Scalar {
    const char *name;
    double value;
    bool isGiven; ///< by the program or the caller
  };

  Status checkIsOpen() const;
  Status startOrResume();
  void listTensors();
  void addState(const Argument &argument);
  Status findScalar(const std::string &name, Scalar *&scalar);
  Status findState(int64_t index, const Argument *&argument) const;
  void writeScalars(int64_t step);
  Status renewCodes();
  Status runStep(const honert_tensor *const *tensors, int64_t step);

  const Program &program;
  const std::string init, checkpointPath;
  const bool isFresh, resumes, isDeterministic;
  const int threads;
  uint64_t seed;

  std::optional<ThreadPool> pool;
  std::unique_ptr<ProcessGroup> world;
  std::unique_ptr<Executor> executor;
  std::optional<CheckpointFolder> checkpoints;
  CallerInputs inputs;
  std::vector<StateTensor> state;
  std::vector<honert_named_tensor> named;
  std::vector<Scalar> scalars;
  int64_t doneSteps = 0;
  const int process; ///< that made this
  bool isOpen = false;
  bool haveCodes = true; ///< of the parameters as they are
};

} // namespace honert

#endif // HONERT_TRAIN_IN_PROCESS_STEPTRAINER_H
