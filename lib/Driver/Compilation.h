//===- Compilation.h - One compilation --------------------------*- C++ -*-===//

#ifndef HONE_DRIVER_COMPILATION_H
#define HONE_DRIVER_COMPILATION_H

#include "DeviceCode.h"
#include "OutputFile.h"
#include "hone/Driver/Options.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Report/Pipeline.h"
#include "hone/Report/Report.h"
#include "hone/Support/ParseFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

namespace hone::search {
struct Model;
} // namespace hone::search

namespace hone::driver {

/// Prints how long each part of the compilation takes, if asked to.
class PhaseTimer {
public:
  explicit PhaseTimer(bool isOn) : isOn(isOn) {}
  ~PhaseTimer() { print("total", start); }

  /// Ends the part that began with the last call.
  void lap(llvm::StringRef name) {
    print(name, last);
    last = Clock::now();
  }

private:
  using Clock = std::chrono::steady_clock;
  void print(llvm::StringRef name, Clock::time_point since) const {
    std::chrono::duration<double, std::milli> ms = Clock::now() - since;
    if (isOn)
      llvm::errs() << llvm::formatv("{0,-10} {1,8:F1} ms\n", name, ms.count());
  }

  bool isOn;
  Clock::time_point start = Clock::now();
  Clock::time_point last = start;
};

/// One compilation: the module on its way through the phases.
class Compilation {
public:
  Compilation(const Options &options, llvm::StringRef tool)
      : options(options), tool(tool), timer(options.timePhases),
        context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  llvm::Error run();

  /// Plans, without a word, to see how much it takes and how long: of a
  /// compilation with other options than the user's. None where that fails for
  /// another reason than too small a budget.
  std::optional<report::TriedPlan> tryPlan();

private:
  bool runs(Phase phase) const {
    return phaseOf(options.pipeline.from) <= phase &&
           phase <= phaseOf(options.pipeline.upto);
  }
  /// What the module is compiled for, as `hone.target` has it.
  std::string target() const;
  /// Runs the passes that `build` adds; `name` is for the error of a pass that
  /// says none.
  llvm::Error runPasses(const llvm::Twine &name,
                        llvm::function_ref<void(mlir::PassManager &)> build);
  std::string printModule();

  // The module that it begins with (ReadModule.cpp).
  llvm::Error readModule();
  llvm::Error parsePackage();
  llvm::Error parseText();
  llvm::Error checkTextTarget() const;

  // Phases and what is said of them (Compile.cpp).
  llvm::Error loadPasses();
  llvm::Error runInsertion(const Insertion &insertion);
  llvm::Error runPhases(Phase first, Phase last);
  int64_t microBatches();
  llvm::Error readCluster();
  report::MachineModel assumedMachine() const;
  report::MachineModel machineOfRank(bool hasRanks) const;
  report::Summary summarizeProgram(plan::ProgramOp program,
                                   const report::MachineModel &machine);
  void warnOfRoom(llvm::ArrayRef<plan::ProgramOp> programs) const;
  llvm::Expected<std::vector<plan::ProgramOp>> getPrograms();
  std::vector<std::string> sourceFolders() const;
  llvm::Error planStages(llvm::ArrayRef<plan::ProgramOp> programs);
  llvm::Error dumpSchedule(const pipeline::Schedule &schedule,
                           const report::PipelineSummary &step);
  void keepText(Phase phase);
  llvm::Error plan();
  llvm::Error emit(OutputFile &output);
  llvm::Error emitLowered(OutputFile &output);

  // Plans with other options (TryToFit.cpp).
  llvm::Error planTrial();
  std::vector<report::TriedPlan> tryToFit(const report::Summary &summary,
                                          int64_t room) const;

  // Plans for many ranks (SearchMesh.cpp).
  llvm::Expected<search::Model> describeModel();
  llvm::Error searchMesh();

  // From a lowered program to a binary (WriteBinary.cpp).
  void noteCpu();
  llvm::Error lowerDevice();
  llvm::Error writeBinary(OutputFile &output);
  llvm::Error link(llvm::StringRef object, OutputFile &output);

  const Options &options;
  llvm::StringRef tool;
  std::string input = options.package == "-" ? "<stdin>" : options.package;
  PhaseTimer timer;
  mlir::MLIRContext context;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine; // of the host
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DeviceCode device;                             // where the target is a GPU
  std::vector<report::Explanation> explanations; // remarks of the phases
  std::vector<report::ModuleText> texts;         // for the report
  std::optional<LibraryRoofline> limit; // of a GPU's step, for a dry run
  std::optional<Cluster> cluster;       // where a file describes one
  double modelFlops = 0;                // of a step of all ranks
  bool isTrial = false; // nothing is said: another one speaks of it
};

/// Diagnostics have been printed; only the exit code is left to say.
inline llvm::Error alreadyPrinted() { return makeError(""); }

} // namespace hone::driver

#endif // HONE_DRIVER_COMPILATION_H
