//===- Options.h - Command line of honec ------------------------*- C++ -*-===//

#ifndef HONE_DRIVER_OPTIONS_H
#define HONE_DRIVER_OPTIONS_H

#include "hone/Analysis/MeshSearch/Plan.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Target/CPU/MachineCode.h"

#include <optional>

namespace hone::driver {

/// What to write.
enum class Emit { MLIR, Plan, LLVM, PTX, Object, Executable, SharedObject };

/// A pass that a user adds behind a phase.
struct Insertion {
  std::string pass; ///< NAME or NAME{OPTIONS}
  hone::Phase after;
};

struct Options {
  std::string package;     ///< or text of a module with --from; "-": stdin
  bool readsText = false;  ///< --from was given
  bool writesText = false; ///< --upto was given: text for --from
  std::string textPackage; ///< that the text is of; "": as the text says
  std::vector<std::string> plugins; ///< shared libraries of passes
  std::vector<Insertion> insertions;
  std::string output; ///< "-": standard output, for text
  hone::CpuTarget cpu;
  bool isCuda = false;
  std::string cudaArch;  ///< "sm_90"; "": any
  std::string device;    ///< "H100"; "": the one that is assumed for cudaArch
  bool emulates = false; ///< the executable brings an emulated GPU
  /// It brings the emulator's code of its kernels, to compare a GPU with.
  bool bringsHostKernels = false;
  std::string report;       ///< directory, "": none
  std::string scheduleDump; ///< file .svg or .csv, "": none
  std::string cluster;      ///< file that describes one, "": the target's
  Emit emit = Emit::Executable;
  hone::PipelineOptions pipeline;
  bool dryRun = false;
  int64_t searchedRanks = 0;                ///< of --search-mesh; 0: no search
  std::optional<search::Plan> comparedPlan; ///< beside what the search finds
  bool timePhases = false;
  std::vector<std::string> given; ///< options, as "--name=value"

  /// Whether nothing is written.
  bool onlyReports() const { return dryRun || searchedRanks != 0; }
};

/// Reads the command line. Returns the exit code if the program ends here: 0
/// after --help or --version, 2 after one line about a wrong command line.
std::optional<int> parseOptions(int argc, char **argv, Options &options);

} // namespace hone::driver

#endif // HONE_DRIVER_OPTIONS_H
