//===- Executor.h - Runs the functions of a program -----------------------===//

#ifndef HONERT_CORE_EXECUTOR_H
#define HONERT_CORE_EXECUTOR_H

#include "core/Arena.h"
#include "core/Program.h"
#include "cpu/Matmul.h"
#include "cpu/Parallel.h"

#include <chrono>
#include <memory>

namespace honert {

/// When one launch ran.
struct LaunchTime {
  const Launch *launch;
  std::chrono::steady_clock::time_point begin, end;
};

/// The launches of every function, bound to an arena: pointers resolved,
/// library calls prepared, workspace allocated.
class Executor {
public:
  Executor(const Program &program, const ThreadPool &pool);
  ~Executor();

  /// Allocates arena and workspace and prepares every launch.
  Status start();

  /// Runs a function of the program from its first launch to its last.
  Status run(const Function &function);

  Arena &arena() { return memory; }
  int64_t workspaceBytes() const { return matmuls.workspaceBytes(); }
  std::string libraryVersion() const { return matmuls.versionText(); }
  bool multipliesNarrow() const { return matmuls.multipliesNarrow(); }
  bool usesBFloatUnits() const { return matmuls.usesBFloatUnits(); }

  /// While set, run() appends the time of each launch.
  void record(std::vector<LaunchTime> *times) { recording = times; }

private:
  struct Bound;

  Status bind(const Launch &launch, Bound &bound);
  Status runLaunch(const Function &function, Bound &bound);
  void runKernel(const KernelLaunch &kernel, Bound &bound);

  const Program &program;
  const ThreadPool &pool;
  Arena memory, workspace;
  MatmulLibrary matmuls;
  std::map<const Function *, std::vector<Bound>> functions;
  std::vector<LaunchTime> *recording = nullptr;
};

} // namespace honert

#endif // HONERT_CORE_EXECUTOR_H
