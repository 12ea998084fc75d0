//===- Compile.cpp - From a package to a file -----------------------------===//

#include "hone/Driver/Compile.h"

#include "DeviceCode.h"
#include "ModuleText.h"
#include "OutputFile.h"
#include "hone/Analysis/Cost/StepFlops.h"
#include "hone/Pipelines/Plugins.h"
#include "hone/Report/DryRun.h"
#include "hone/Report/Report.h"
#include "hone/Support/Package.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/CPU/MachineCode.h"
#include "hone/Target/Link.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <chrono>

using namespace hone;
using namespace hone::driver;
using namespace hone::report;
using llvm::Error;
using llvm::StringRef;

namespace {
/// Prints how long each part of the compilation takes, if asked to.
class PhaseTimer {
public:
  explicit PhaseTimer(bool isOn) : isOn(isOn) {}
  ~PhaseTimer() { print("total", start); }

  /// Ends the part that began with the last call.
  void lap(StringRef name) {
    print(name, last);
    last = Clock::now();
  }

private:
  using Clock = std::chrono::steady_clock;
  void print(StringRef name, Clock::time_point since) const {
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
  Compilation(const Options &options, StringRef tool)
      : options(options), tool(tool), timer(options.timePhases),
        context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  Error run();

private:
  bool runs(Phase phase) const {
    return phaseOf(options.pipeline.from) <= phase &&
           phase <= phaseOf(options.pipeline.upto);
  }
  Error readModule();
  Error parsePackage();
  Error parseText();
  Error checkTextTarget() const;
  Error loadPasses();
  Error runInsertion(const Insertion &insertion);
  int64_t microBatches();
  std::string target() const;
  Error readCluster();
  MachineModel assumedMachine() const;
  Error runPhases(Phase first, Phase last);
  Error runPasses(const llvm::Twine &name,
                  llvm::function_ref<void(mlir::PassManager &)> build);
  Error plan();
  Error emit(OutputFile &output);
  Error emitLowered(OutputFile &output);
  void noteCpu();
  Error lowerDevice();
  Error writeBinary(OutputFile &output);
  Error link(StringRef object, OutputFile &output);
  llvm::Expected<plan::ProgramOp> getProgram();
  std::string printModule();
  void keepText(Phase phase);

  const Options &options;
  StringRef tool;
  std::string input = options.package == "-" ? "<stdin>" : options.package;
  PhaseTimer timer;
  mlir::MLIRContext context;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine; // of the host
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DeviceCode device;                     // where the target is a GPU
  std::vector<Explanation> explanations; // remarks of the phases
  std::vector<ModuleText> texts;         // for the report
  std::optional<LibraryRoofline> limit;  // of a GPU's step, for a dry run
  std::optional<Cluster> cluster;        // where a file describes one
  double modelFlops = 0;                 // of a step of all ranks
};
} // namespace

/// Diagnostics have been printed; only the exit code is left to say.
static Error alreadyPrinted() { return makeError(""); }

/// What the module is compiled for, as `hone.target` has it.
std::string Compilation::target() const {
  return options.isCuda ? "cuda " + options.cudaArch
                        : "cpu " + options.cpu.name;
}

Error Compilation::parsePackage() {
  if (llvm::sys::fs::is_regular_file(options.package))
    return makeError(input + ": is not a directory, expected a package; text "
                             "of a module needs --from=PHASE");
  llvm::SmallVector<PackageArgument> arguments;
  llvm::Expected<Package> package = readPackage(options.package, arguments);
  if (!package)
    return package.takeError();
  OneLineDiagnostics diagnostics(&context, package->graphPath);
  module = hone::parsePackage(*package, arguments, &context);
  if (!module)
    return diagnostics.failed()
               ? alreadyPrinted()
               : makeError(package->graphPath + ": cannot be parsed");
  notePackage(*module, *package);
  (*module)->setAttr("hone.fingerprint",
                     mlir::StringAttr::get(&context, package->fingerprint));
  return Error::success();
}

/// Phases before have chosen by the target that the text names.
Error Compilation::checkTextTarget() const {
  auto seen = (*module)->getAttrOfType<mlir::StringAttr>(attr::target);
  if (!seen || seen == target())
    return Error::success();
  auto [name, arch] = seen.getValue().split(' ');
  return makeError(input + ": is for '" + seen.getValue() + "', not '" +
                   target() + "', expected --target=" + name +
                   (arch.empty() ? "" : " --arch=" + arch.str()));
}

Error Compilation::parseText() {
  if (llvm::sys::fs::is_directory(options.package))
    return makeError(input + ": is a directory, expected text of a module "
                             "with --from; a package takes none");
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(options.package);
  if (!text)
    return makeError(input + ": cannot be read: " + text.getError().message());
  // What was compiled, whoever has changed it on the way.
  std::string fingerprint = sha256((*text)->getBuffer());
  OneLineDiagnostics diagnostics(&context, input);
  module = parseGraph(std::move(*text), &context);
  if (!module)
    return diagnostics.failed() ? alreadyPrinted()
                                : makeError(input + ": cannot be parsed");
  if (Error error = checkTextTarget())
    return error;
  llvm::SmallVector<PackageArgument> arguments;
  if (options.textPackage == "none") {
    notePackage(*module, Package());
  } else if (!options.textPackage.empty()) {
    llvm::Expected<Package> package =
        readPackage(options.textPackage, arguments);
    if (!package)
      return package.takeError();
    notePackage(*module, *package);
  } else if (!(*module)->hasAttr("hone.package")) {
    // Without it the weights of the package would be left out silently.
    return makeError(input + ": names no package, expected "
                             "--package=DIR.hone, or --package=none");
  }
  (*module)->setAttr("hone.fingerprint",
                     mlir::StringAttr::get(&context, fingerprint));
  if (Error error = restoreConstants(*module))
    return makeError(input + ": " + llvm::toString(std::move(error)));
  Phase from = phaseOf(options.pipeline.from);
  if (from == Phase::Import)
    return Error::success();
  Phase before = Phase(int(from) - 1);
  return runPasses(nameOf(before), [&](mlir::PassManager &manager) {
    buildBorder(before, manager);
  });
}

Error Compilation::readModule() {
  if (Error error = options.readsText ? parseText() : parsePackage())
    return error;
  // What the binary says about itself (--info).
  mlir::Builder builder(&context);
  (*module)->setAttr(attr::target, builder.getStringAttr(target()));
  (*module)->setAttr("hone.compiler",
                     builder.getStringAttr("honec " HONE_VERSION));
  timer.lap("read");
  return Error::success();
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

/// Runs the passes that `build` adds; `name` is for the error of a pass that
/// says none.
Error Compilation::runPasses(
    const llvm::Twine &name,
    llvm::function_ref<void(mlir::PassManager &)> build) {
  OneLineDiagnostics diagnostics(&context, input);
  std::string phase = name.str();
  // Remarks are for the report.
  mlir::ScopedDiagnosticHandler remarks(&context, [&](auto &diagnostic) {
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

llvm::Expected<plan::ProgramOp> Compilation::getProgram() {
  auto programs = module->getOps<plan::ProgramOp>();
  if (programs.empty())
    return makeError(input + ": the plan phase left no program");
  return *programs.begin();
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

/// The text of LLVM IR, where a large value becomes a declaration.
static std::string printCode(llvm::Module &code) {
  int elided = 0;
  for (llvm::GlobalVariable &global : code.globals()) {
    auto *data = global.hasInitializer()
                     ? llvm::dyn_cast<llvm::ConstantDataSequential>(
                           global.getInitializer())
                     : nullptr;
    if (!data || data->getRawDataValues().size() <= maxPrintedBytes)
      continue;
    global.setInitializer(nullptr);
    global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    ++elided;
  }
  std::string text = elisionNote(";", elided);
  llvm::raw_string_ostream stream(text);
  code.print(stream, nullptr);
  return text;
}

Error Compilation::link(StringRef object, OutputFile &output) {
  llvm::SmallString<128> path;
  int descriptor;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("honec", "o", descriptor, path))
    return makeError("temporary object: cannot be created: " + code.message());
  llvm::sys::RemoveFileOnSignal(path);
  llvm::FileRemover remove(path);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << object;
  stream.close();
  if (std::error_code code = stream.error()) {
    stream.clear_error();
    return makeError(path + ": cannot be written: " + code.message());
  }
  llvm::SmallString<128> resources(llvm::sys::path::parent_path(tool));
  llvm::sys::path::append(resources, "..", "lib", "honec");
  Error error = linkProgram({tool.str(), std::string(resources),
                             std::string(path), output.temporaryPath().str(),
                             options.emit == Emit::SharedObject,
                             options.emulates, options.bringsHostKernels});
  if (!error)
    return error;
  return makeError(options.output + ": " + llvm::toString(std::move(error)));
}

/// Compiles the kernels of a GPU and leaves the host's part of the program.
Error Compilation::lowerDevice() {
  OneLineDiagnostics diagnostics(&context, input);
  mlir::PassManager manager(&context);
  buildDevicePhase(manager);
  if (failed(manager.run(*module)))
    return diagnostics.failed() ? alreadyPrinted()
                                : makeError(input + ": phase device failed");
  timer.lap("device");
  // What every GPU of today runs, unless one is named.
  llvm::Expected<DeviceTarget> target = selectDevice(
      options.cudaArch.empty() ? oldestDevice.str() : options.cudaArch);
  if (!target)
    return target.takeError();
  if (Error error = planAttentionCalls(
          *module, *target,
          {findAttentionPlanner(tool), /*arch=*/"", options.emulates},
          *options.pipeline.attentionAnswers))
    return makeError(input + ": " + llvm::toString(std::move(error)));
  llvm::Expected<DeviceCode> compiled = compileDevice(
      *module, *target, options.emulates || options.bringsHostKernels,
      options.cpu, *machine, llvmContext);
  if (!compiled)
    return makeError(input + ": " + llvm::toString(compiled.takeError()));
  device = std::move(*compiled);
  timer.lap("ptx");
  return Error::success();
}

/// Translates to LLVM IR and writes what comes of it.
Error Compilation::writeBinary(OutputFile &output) {
  std::unique_ptr<llvm::Module> code;
  {
    OneLineDiagnostics diagnostics(&context, input);
    code = translateToLLVM(*module, options.cpu, *machine, llvmContext);
    if (!code)
      return diagnostics.failed() ? alreadyPrinted()
                                  : makeError(input + ": no LLVM IR was made");
  }
  optimize(*code, *machine);
  // The emulation must stay as it is.
  if (device.emulated &&
      llvm::Linker::linkModules(*code, std::move(device.emulated)))
    return makeError(input + ": the emulation cannot be linked");
  timer.lap("optimize");
  if (options.emit == Emit::LLVM)
    return output.write(printCode(*code));
  llvm::SmallVector<char, 0> object = emitObject(*code, *machine);
  timer.lap("codegen");
  StringRef bytes(object.data(), object.size());
  if (options.emit == Emit::Object)
    return output.write(bytes);
  if (Error error = link(bytes, output))
    return error;
  timer.lap("link");
  return Error::success();
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

/// Plans, and says what the plan costs where that was asked for.
Error Compilation::plan() {
  if (Error error = runPhases(Phase::Plan, Phase::Plan))
    return error;
  llvm::Expected<plan::ProgramOp> program = getProgram();
  if (!program)
    return program.takeError();
  if (!options.dryRun && options.report.empty())
    return Error::success();
  TargetDescription target = *getTarget(*module);
  MachineModel machine = assumedMachine();
  target.hasNarrowUnits = options.isCuda || machine.bf16Factor > 1;
  Summary summary = summarize(*program, microBatches(), target);
  summary.limit = limit;
  summary.modelFlops = modelFlops;
  if (cluster)
    useCluster(machine, *cluster, options.cluster);
  else if (summary.mesh && !options.isCuda)
    machine.memoryBytes = 0; // ranks may share a machine
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
      // Where the model lies, most likely.
      {".", llvm::sys::path::parent_path(options.package).str()});
}

/// What the program looks for before it runs kernels on a CPU.
void Compilation::noteCpu() {
  if (options.isCuda && !options.emulates && !options.bringsHostKernels)
    return;
  mlir::Builder builder(&context);
  (*module)->setAttr("hone.cpu", builder.getStringAttr(options.cpu.name));
  (*module)->setAttr("hone.cpu_features",
                     builder.getStringAttr(listFeatures(*machine)));
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
  if (runs(Phase::Plan) || !options.report.empty())
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
  if (!options.dryRun) {
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
