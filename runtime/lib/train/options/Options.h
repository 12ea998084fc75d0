//===- Options.h - The command line of a training program -----------------===//

#ifndef HONERT_TRAIN_OPTIONS_OPTIONS_H
#define HONERT_TRAIN_OPTIONS_OPTIONS_H

#include "io/checkpoint/RunFlags.h"
#include "io/data/TokenSource.h"
#include "program/Program.h"
#include "train/Schedule.h"

#include <utility>

namespace honert {

/// What the flags say, with defaults where they say nothing.
struct Options {
  std::string program;                       ///< as it was called: "./train"
  std::vector<std::string> data, validation; ///< as they were given
  std::vector<TokenSource> sources, validationSources; ///< of these
  std::string init, save, log, checkpoints, dump, profile;
  std::string offloadFolder; ///< of the second arena
  std::string tensorboard;   ///< folder of event files
  std::string resumeFrom;    ///< of --resume DIR
  RunFlags given;            ///< for who goes on with the run
  /// Flags that differ from those of the run that goes on, in words.
  std::vector<std::pair<std::string, std::string>> changes;
  std::vector<std::pair<std::string, std::string>> inputs, validationInputs;
  int64_t steps = 100, warmup = 0, decaySteps = 0, threads = 0;
  double epochs = 0;  ///< of --steps 2epochs; then `steps` is what they are
  int64_t tokens = 0; ///< of --tokens; then `steps` is what they are
  int64_t validateEvery = 0, validationBatches = 20, checkpointEvery = 0;
  int64_t checkReplicasEvery = 0, logEvery = 0;
  std::string generate;           ///< the text to continue
  std::string tokenizer;          ///< of that text; empty: bytes
  std::vector<int64_t> promptIds; ///< the same as tokens
  int64_t tokensOut = 100, topK = 0, sampleEvery = 0;
  double temperature = 1, topP = 1;
  int64_t compareLaunches = 0; ///< in this step; 0: in none
  uint64_t seed = 0;
  bool seedGiven = false;
  double learningRate = 0, minLearningRate = 0, weightDecay = 0, clip = 0;
  std::string bootstrap;    ///< how ranks meet without MPI, or empty
  double commTimeout = 600; ///< seconds; 0: none
  ScheduleKind schedule = ScheduleKind::constant;
  bool shuffle = false, resume = false, newData = false, quiet = false;
  bool deterministic = false, fresh = false, keepBest = false;
  bool benchCollectives = false, smoke = false;
  bool check = false; ///< whether the run can start, and stop
  bool info = false, help = false, helpJson = false, version = false;

  /// Whether the process continues a text and trains nothing.
  bool onlyGenerates() const {
    return sampleEvery == 0 && (!generate.empty() || !promptIds.empty());
  }
  /// The program says or tries something and stops, without training.
  bool onlyInspects() const { return info || benchCollectives || smoke; }
  bool mixesSources() const { return sources.size() > 1; }
  bool validates() const {
    return !validation.empty() || !validationInputs.empty();
  }
};

/// Reads `argc` arguments as flags of `program`, whose description gives some
/// defaults. Unknown, repeated, malformed, contradictory flags, and flags for
/// what the program does not have, are usage errors.
Status parseOptions(const Program &program, int argc, char **argv,
                    Options &options);

/// The text of --help for `program`.
std::string helpText(const char *programName, const Program &program);

/// The flags as a JSON object: those that were given, and the others whose
/// default does something.
std::string configText(Options options);

/// The text of --help-json: {"options": [{"name", "value", "alone", "repeats",
/// "help"}]}; "value" is null for a flag that takes none, "alone" is the value
/// of one that is given without, or null.
std::string helpJson();

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_OPTIONS_H
