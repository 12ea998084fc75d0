//===- Compile.cpp - From a package to a file -----------------------------===//

#include "hone/Driver/Compile.h"

#include "Compilation.h"
#include "ModuleText.h"
#include "hone/Analysis/Cost/StepFlops.h"
#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/Pipelines/Plugins.h"
#include "hone/Report/DryRun.h"
#include "hone/Support/ByteSize.h"
#include "hone/Target/CPU/MachineCode.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace hone;
using namespace hone::driver;
using namespace hone::report;
using llvm::Error;
using llvm::StringRef;

std::string Compilation::target() const {
  return options.isCuda ? "cuda " + options.cudaArch
                        : "cpu " + options.cpu.name;
}

/// Of a step: `--micro-batches`, or what the step phase has noted.
int64_t Compilation::microBatches() {
  auto count = (*module)->getAttrOfType<mlir::IntegerAttr>(attr::microBatches);
  return count ? count.getInt() : options.pipeline.microBatches;
}

/// The machine of a rank, before a cluster is read.
MachineModel Compilation::assumedMachine() const {
  return options.isCuda ? modelDevice(*getTarget(*module))
                        : modelMachine(options.cpu);
}

/// The machine that a rank of the program is estimated on.
MachineModel Compilation::machineOfRank(bool hasRanks) const {
  MachineModel machine = assumedMachine();
  if (cluster)
    useCluster(machine, *cluster, options.cluster);
  else if (hasRanks && !options.isCuda)
    machine.memoryBytes = 0; // ranks may share a machine
  return machine;
}

Summary Compilation::summarizeProgram(plan::ProgramOp program,
                                      const MachineModel &machine) {
  TargetDescription target = *getTarget(*module);
  target.hasNarrowUnits = options.isCuda || machine.bf16Factor > 1;
  Summary summary = summarize(program, microBatches(), target);
  summary.modelFlops = modelFlops;
  return summary;
}

/// A GPU may be larger than the one that is assumed, so this is no error; the
/// program says at its start what it lacks.
void Compilation::warnOfRoom(llvm::ArrayRef<plan::ProgramOp> programs) const {
  MachineModel machine = machineOfRank(/*hasRanks=*/true);
  std::optional<int64_t> room = machine.arenaRoom();
  if (!room || !machine.device)
    return;
  int64_t most = 0;
  for (plan::ProgramOp program : programs)
    most = std::max(most, int64_t(program.getArena()));
  if (most > *room)
    llvm::errs() << "warning: " << input << ": needs an arena of "
                 << formatBytes(most) << ", and "
                 << (cluster ? options.cluster
                             : "a " + machine.device->name.str())
                 << " has " << formatBytes(*room)
                 << " for it: --dry-run says what fits, --device names another "
                    "GPU\n";
}

/// Reads the description of a cluster; passes find its network at the module.
Error Compilation::readCluster() {
  auto file = llvm::MemoryBuffer::getFile(options.cluster);
  if (!file)
    return makeError(options.cluster +
                     ": cannot be read: " + file.getError().message());
  cluster = clusterOf(assumedMachine());
  if (Error error = parseCluster((*file)->getBuffer(), *cluster))
    return makeError(options.cluster + ": " + llvm::toString(std::move(error)));
  (*module)->setAttr(dist::networkAttr, cluster->network.toAttr(&context));
  return Error::success();
}

Error Compilation::runPasses(
    const llvm::Twine &name,
    llvm::function_ref<void(mlir::PassManager &)> build) {
  OneLineDiagnostics diagnostics(&context, input);
  std::string phase = name.str();
  // Remarks are for the report.
  mlir::ScopedDiagnosticHandler remarks(&context, [&](auto &diagnostic) {
    if (isTrial)
      return mlir::success();
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
      return mlir::failure();
    explanations.push_back(
        {phase, describeLocation(diagnostic.getLocation()), diagnostic.str()});
    return mlir::success();
  });
  // A pass of a user may be on functions.
  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName(),
                            mlir::OpPassManager::Nesting::Implicit);
  build(manager);
  if (mlir::succeeded(manager.run(*module)))
    return Error::success();
  return diagnostics.failed()
             ? alreadyPrinted()
             : makeError(input + ": phase " + phase + " failed");
}

/// Adds a pass or pipeline, written as `--insert` has it: NAME{OPTIONS}. Unlike
/// in a whole textual pipeline, a pass on functions needs no nest around it.
static Error addPass(StringRef text, mlir::OpPassManager &manager) {
  auto [name, braced] = text.split('{');
  const mlir::PassRegistryEntry *pass = mlir::PassInfo::lookup(name);
  if (!pass)
    pass = mlir::PassPipelineInfo::lookup(name);
  if (!pass)
    return makeError("--insert: is '" + name +
                     "', expected a pass of a "
                     "--plugin, of Hone or of MLIR");
  StringRef options = braced;
  if (text.contains('{') && !options.consume_back("}"))
    return makeError("--insert: is '" + text + "', expected PASS{OPTIONS}");
  std::string message;
  auto fail = [&](const llvm::Twine &said) {
    message = said.str();
    return mlir::failure();
  };
  if (succeeded(pass->addToPipeline(manager, options, fail)))
    return Error::success();
  return makeError("--insert: " + name + ": " + message);
}

/// Loads the plugins, and checks what is to be inserted before any work is
/// done.
Error Compilation::loadPasses() {
  for (StringRef plugin : options.plugins)
    if (Error error = loadPassPlugin(plugin))
      return error;
  if (options.insertions.empty())
    return Error::success();
  registerAllPasses();
  mlir::OpPassManager checked(mlir::ModuleOp::getOperationName(),
                              mlir::OpPassManager::Nesting::Implicit);
  for (const Insertion &insertion : options.insertions)
    if (Error error = addPass(insertion.pass, checked))
      return error;
  return Error::success();
}

Error Compilation::runInsertion(const Insertion &insertion) {
  return runPasses(insertion.pass, [&](mlir::PassManager &manager) {
    llvm::cantFail(addPass(insertion.pass, manager));
    buildBorder(insertion.after, manager);
  });
}

/// Runs those of the phases that `--from` asks for.
Error Compilation::runPhases(Phase first, Phase last) {
  PipelineOptions pipeline = options.pipeline;
  pipeline.report = !options.report.empty();
  pipeline.attentionTool = findAttentionPlanner(tool);
  pipeline.emulate = options.emulates;
  first = std::max(first, phaseOf(options.pipeline.from));
  for (const auto &[name, phase] : getPhases()) {
    if (phase < first || phase > last)
      continue;
    if (Error error =
            runPasses(name, [&, phase = phase](mlir::PassManager &manager) {
              buildPhase(phase, manager, pipeline);
            }))
      return error;
    for (const Insertion &insertion : options.insertions)
      if (insertion.after == phase)
        if (Error error = runInsertion(insertion))
          return error;
    timer.lap(name);
  }
  return Error::success();
}

/// One, or one for each stage of a pipeline.
llvm::Expected<std::vector<plan::ProgramOp>> Compilation::getPrograms() {
  auto programs = module->getOps<plan::ProgramOp>();
  if (programs.empty())
    return makeError(input + ": the plan phase left no program");
  return std::vector<plan::ProgramOp>(programs.begin(), programs.end());
}

std::string Compilation::printModule() {
  return driver::printModule(*module, /*toGoOn=*/options.writesText);
}

/// Keeps what `phase` has left for the report, which links its lines by their
/// locations. Where --from begins later than behind it, nobody has it.
void Compilation::keepText(Phase phase) {
  bool isThere = int(phaseOf(options.pipeline.from)) <= int(phase) + 1;
  if (!options.report.empty() && isThere)
    texts.push_back(
        {nameOf(phase).str(), driver::printModule(*module, /*toGoOn=*/true)});
}

/// The package that is read is not written over.
static Error checkOutput(const Options &options) {
  for (StringRef name : {"graph.mlir", "manifest.json", "model.safetensors",
                         "consts.safetensors", "golden.safetensors"}) {
    llvm::SmallString<128> path(options.package);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::equivalent(path, options.output))
      return makeError(options.output + ": is a file of the package, expected "
                                        "another file to write");
  }
  return Error::success();
}

/// Writes the lists of `schedule`, or the times that `step` estimates.
Error Compilation::dumpSchedule(const pipeline::Schedule &schedule,
                                const PipelineSummary &step) {
  StringRef path = options.scheduleDump;
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  std::string text;
  llvm::raw_string_ostream out(text);
  if (path.ends_with(".csv"))
    pipeline::writeCsv(schedule, out);
  else
    pipeline::writeSvg(step.schedule, step.timeline, out);
  if (Error error = file->write(text))
    return error;
  return file->commit();
}

/// Where the model lies, most likely.
std::vector<std::string> Compilation::sourceFolders() const {
  return {".", llvm::sys::path::parent_path(options.package).str()};
}

/// Says what the stages of a pipeline cost, and when they run.
Error Compilation::planStages(llvm::ArrayRef<plan::ProgramOp> programs) {
  mlir::FailureOr<pipeline::Schedule> schedule =
      pipeline::readStageSchedule(*module);
  if (failed(schedule))
    return alreadyPrinted();
  MachineModel machine = machineOfRank(/*hasRanks=*/true);
  std::vector<Summary> stages;
  for (plan::ProgramOp program : programs)
    stages.push_back(summarizeProgram(program, machine));
  PipelineSummary step =
      summarizePipeline(programs, stages, *schedule, machine);
  if (options.dryRun)
    printDryRun(stages, step, machine);
  if (!options.report.empty()) {
    keepText(Phase::Plan);
    if (Error error = writePipelineReport(options.report, step, stages, machine,
                                          explanations, texts, sourceFolders()))
      return error;
  }
  return options.scheduleDump.empty() ? Error::success()
                                      : dumpSchedule(*schedule, step);
}

/// Plans, and says what the plan costs where that was asked for.
Error Compilation::plan() {
  if (Error error = runPhases(Phase::Plan, Phase::Plan))
    return error;
  llvm::Expected<std::vector<plan::ProgramOp>> programs = getPrograms();
  if (!programs)
    return programs.takeError();
  if (options.isCuda && !options.dryRun)
    warnOfRoom(*programs);
  if (!options.dryRun && options.report.empty() && options.scheduleDump.empty())
    return Error::success();
  if (programs->front().getStage())
    return planStages(*programs);
  Summary summary = summarizeProgram(programs->front(), assumedMachine());
  MachineModel machine = machineOfRank(summary.mesh.has_value());
  summary.limit = limit;
  if (std::optional<int64_t> room = machine.arenaRoom();
      room && summary.memory.arena > *room)
    summary.tried = tryToFit(summary, *room);
  for (auto &[bytes, seconds] : summary.memory.curve)
    seconds /= machine.computingSpeed;
  std::optional<JobSummary> job;
  if (summary.mesh)
    job = summarizeJob(summary, machine);
  if (options.dryRun)
    printDryRun(summary, machine, job ? &*job : nullptr);
  if (options.report.empty())
    return Error::success();
  keepText(Phase::Plan);
  return writeReport(
      options.report,
      makeReport(summary, machine, job ? &*job : nullptr, explanations), texts,
      sourceFolders());
}

/// Lowers the planned program and writes what `options.emit` asks for.
Error Compilation::emitLowered(OutputFile &output) {
  machine = createMachine(options.cpu);
  noteCpu();
  if (Error error = runPhases(Phase::Lower, Phase::Lower))
    return error;
  if (!runs(Phase::LLVM))
    return output.write(printModule());
  if (options.isCuda)
    if (Error error = lowerDevice())
      return error;
  if (options.emit == Emit::PTX)
    return output.write(device.ptx);
  if (Error error = runPhases(Phase::LLVM, Phase::LLVM))
    return error;
  return options.emit == Emit::MLIR ? output.write(printModule())
                                    : writeBinary(output);
}

/// Runs the phases from planning on that `options.emit` needs and writes what
/// they leave.
Error Compilation::emit(OutputFile &output) {
  Phase upto = phaseOf(options.pipeline.upto);
  if (upto < Phase::Plan)
    if (Error error = output.write(printModule()))
      return error;
  if (runs(Phase::Plan) || !options.report.empty() ||
      !options.scheduleDump.empty())
    if (Error error = plan())
      return error;
  if (upto == Phase::Plan)
    if (Error error = output.write(printModule()))
      return error;
  if (upto > Phase::Plan)
    if (Error error = emitLowered(output))
      return error;
  return output.commit();
}

Error Compilation::run() {
  std::optional<OutputFile> output;
  if (!options.onlyReports()) {
    if (Error error = checkOutput(options))
      return error;
    llvm::Expected<OutputFile> created = OutputFile::create(options.output);
    if (!created)
      return created.takeError();
    output.emplace(std::move(*created));
  }
  if (Error error = loadPasses())
    return error;
  if (Error error = readModule())
    return error;
  if (!options.cluster.empty())
    if (Error error = readCluster())
      return error;
  if (options.searchedRanks != 0)
    return searchMesh();
  Phase upto = phaseOf(options.pipeline.upto);
  if (Error error = runPhases(Phase::Import, std::min(upto, Phase::Import)))
    return error;
  keepText(Phase::Import);
  if (Error error = runPhases(Phase::Raise, std::min(upto, Phase::Step)))
    return error;
  keepText(Phase::Step);
  modelFlops = hone::modelFlops(*module, microBatches());
  if (Error error = runPhases(Phase::Shard, std::min(upto, Phase::Shard)))
    return error;
  if (options.isCuda && options.dryRun)
    limit = findLibraryRoofline(*module, microBatches(), *getTarget(*module));
  if (Error error = runPhases(Phase::Fuse, std::min(upto, Phase::Checkpoint)))
    return error;
  return options.dryRun ? plan() : emit(*output);
}

int hone::driver::compile(const Options &options, StringRef tool) {
  Error error = Compilation(options, tool).run();
  if (!error)
    return 0;
  if (std::string message = llvm::toString(std::move(error)); !message.empty())
    printError(message);
  return 1;
}
