//===- Executor.h - Runs the functions of a program -----------------------===//
//
// What the training loop sees of the machine that a program runs on: a view of
// the arena, and a way to run a function over it. On a CPU the view is the
// arena itself. On a GPU the arena lies on the device, and the transfers below
// keep up the part of the view that the loop reads and writes.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_EXECUTOR_H
#define HONERT_EXEC_EXECUTOR_H

#include "base/Arena.h"
#include "base/Parallel.h"
#include "program/Channels.h"
#include "program/ProcessGroup.h"
#include "program/Program.h"

#include <chrono>
#include <memory>
#include <optional>

namespace honert {

/// When one launch ran.
struct LaunchTime {
  const Launch *launch;
  std::chrono::steady_clock::time_point begin, end;
};

/// When the launches of one run of a function ran, in the order of the program.
/// Where some run beside others their times overlap.
struct FunctionTimes {
  const Function *function;
  /// They ran as one graph, so that what lies between them is the device's.
  bool isGraph = false;
  std::chrono::steady_clock::time_point begin, end; ///< of a graph
  std::vector<LaunchTime> launches;
};

/// What a machine can do at most: FLOP/s, and of what they are and who says so
/// ("fp32 multiply-adds, measured at start"). Zero: unknown.
struct PeakRate {
  double flops = 0;
  const char *origin = "";
};

/// What a launch can do at most, by the machine's data sheet, and the units
/// that it runs on. Zero, or nothing: unknown.
struct LaunchLimits {
  double flops = 0;          ///< FLOP/s
  double bytesPerSecond = 0; ///< of memory
  std::optional<bool> usesTensorCores;
  /// Bytes that addresses and rows of a product's operands are multiples of, 16
  /// at most: with fewer a library has no fast kernels.
  std::optional<int64_t> alignment;
};

/// What a part of the machine, tried by itself, did.
struct TrialResult {
  std::string name;
  Status status;
  double seconds = 0;
  /// Of a table: what was tried and what came of it ("ok", "absent", or what is
  /// wrong).
  std::vector<std::pair<std::string, std::string>> rows = {};
};

/// The launches of every function, bound to an arena: pointers resolved,
/// library calls prepared, workspace allocated.
class Executor {
public:
  explicit Executor(const Program &program) : program(program) {}
  virtual ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  /// Where the second arena is a file: its folder; empty: a default. Before
  /// start().
  void setOffloadFolder(std::string folder) {
    offloadFolder = std::move(folder);
  }
  /// Allocates arena and workspace and prepares every launch.
  virtual Status start() = 0;
  /// As far as --info needs it; no error keeps the other facts from being told.
  virtual Status startForInfo() { return start(); }

  /// Runs a function of the program from its first launch to its last, on the
  /// inputs, random key and scalars of the view. It may still run when this
  /// returns; functions run in the order of the calls.
  virtual Status run(const Function &function) = 0;
  /// What has been put on its way goes on while the host waits for other
  /// processes.
  virtual Status flush() { return Status(); }
  /// What moves bytes of the arena between stages, in turn with run(); null:
  /// nothing does. After start().
  virtual Channels *channels() { return nullptr; }
  /// What was run since the last call is one step: one collect() brings the
  /// scalars that it leaves.
  virtual Status endStep() { return Status(); }
  /// How many ended steps may be left uncollected while another one runs.
  virtual int stepsInFlight() const { return 0; }
  /// The oldest step that has ended is done, and the view holds the scalars
  /// that came out of it: loss, gradient norm, loss scale.
  virtual Status collect() { return Status(); }
  /// How long the step that was collected last took by the device's clock; 0:
  /// it has none, and the host's counts.
  double deviceSeconds() const { return collectedSeconds; }
  /// Ends a step and collects it, while no other is in flight.
  Status wait() {
    HONERT_TRY(endStep());
    return collect();
  }

  /// The view of the arena.
  Arena &arena() { return memory; }
  /// These bytes of the view, written by the host, are the program's from now
  /// on; what the view holds of them afterwards is not defined.
  virtual Status publish(int64_t offset, int64_t bytes) { return Status(); }
  /// The view holds the program's values of these bytes.
  virtual Status fetch(int64_t offset, int64_t bytes) { return Status(); }
  /// The view's bytes, fetched before, are no longer needed.
  virtual void forget(int64_t offset, int64_t bytes) {}
  /// Sets the program's bytes to zero, the view's too where both are one.
  virtual Status zero(int64_t offset, int64_t bytes) = 0;

  /// Bytes of the library's workspace; nothing before start() where its size
  /// is the library's to tell.
  virtual std::optional<int64_t> workspaceBytes() const = 0;
  /// What the program runs on: "2 threads", or the name of a GPU.
  virtual std::string machineText() const = 0;
  /// The library of matrix products and how it computes them, and that of
  /// attention; empty without.
  virtual std::string libraryVersion() const = 0;
  /// The library of products where a run should say so at its start, or empty.
  virtual std::string libraryNote() const { return libraryVersion(); }
  /// What a run should say at its start of how it launches, or empty.
  virtual std::string launchNote() const { return ""; }
  /// The peak that MFU is a fraction of. May take a moment.
  virtual PeakRate peakRate() const { return {}; }

  /// That of one launch.
  virtual LaunchLimits limitsOf(const Launch &launch) const { return {}; }

  /// While set, run() appends the times of launches. A run that is one graph
  /// has times of its launches only if `insideGraphs`: they slow it down. To be
  /// called between steps.
  void record(std::vector<FunctionTimes> *times, bool insideGraphs = true) {
    recording = times;
    recordsInsideGraphs = insideGraphs;
  }
  /// Of each step that was recorded and ran as graphs without times inside: the
  /// seconds that these took.
  const std::vector<double> &graphSeconds() const { return stepSeconds; }

  /// Tries by themselves, after start(), the parts that runs rely on; what the
  /// arena holds is lost. Nothing to try on a CPU.
  virtual std::vector<TrialResult> tryParts() { return {}; }

  /// While set, run() compares what each launch does with what it should do.
  /// To be called once by all ranks after start(), to prepare for it.
  virtual Status compareLaunches(bool isOn) {
    return isOn ? Status::error("--compare-launches: expected a program for a "
                                "GPU")
                : Status();
  }
  /// What was compared, in words.
  virtual std::string comparedText() const { return ""; }

protected:
  const Program &program;
  Arena memory;
  std::string offloadFolder;
  std::vector<FunctionTimes> *recording = nullptr;
  bool recordsInsideGraphs = true;
  std::vector<double> stepSeconds;
  double collectedSeconds = 0;
};

} // namespace honert

#endif // HONERT_EXEC_EXECUTOR_H
