//===- Compile.cpp - From a package to a file -----------------------------===//

#include "hone/Driver/Compile.h"

#include "DeviceCode.h"
#include "OutputFile.h"
#include "hone/Analysis/Cost/StepFlops.h"
#include "hone/Report/DryRun.h"
#include "hone/Report/Report.h"
#include "hone/Support/Package.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/CPU/MachineCode.h"
#include "hone/Target/Link.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Pass/PassManager.h"
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
  Error readModule();
  Error readCluster();
  MachineModel assumedMachine() const;
  Error runPhases(Phase first, Phase last);
  Error plan();
  Error emit(OutputFile &output);
  void noteCpu();
  Error lowerDevice();
  Error writeBinary(OutputFile &output);
  Error link(StringRef object, OutputFile &output);
  llvm::Expected<plan::ProgramOp> getProgram();
  std::string printModule();

  const Options &options;
  StringRef tool;
  PhaseTimer timer;
  mlir::MLIRContext context;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine; // of the host
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DeviceCode device;                     // where the target is a GPU
  std::vector<Explanation> explanations; // remarks of the phases
  std::optional<LibraryRoofline> limit;  // of a GPU's step, for a dry run
  std::optional<Cluster> cluster;        // where a file describes one
  double modelFlops = 0;                 // of a step of all ranks
};
} // namespace

/// Diagnostics have been printed; only the exit code is left to say.
static Error alreadyPrinted() { return makeError(""); }

Error Compilation::readModule() {
  llvm::SmallVector<PackageArgument> arguments;
  llvm::Expected<Package> package = readPackage(options.package, arguments);
  if (!package)
    return package.takeError();
  OneLineDiagnostics diagnostics(&context, package->graphPath);
  module = parsePackage(*package, arguments, &context);
  if (!module)
    return diagnostics.failed()
               ? alreadyPrinted()
               : makeError(package->graphPath + ": cannot be parsed");
  // What the binary says about itself (--info).
  mlir::Builder builder(&context);
  auto note = [&](StringRef name, StringRef value) {
    (*module)->setAttr(name, builder.getStringAttr(value));
  };
  note("hone.package",
       llvm::sys::path::filename(StringRef(options.package).rtrim('/')));
  note("hone.fingerprint", package->fingerprint);
  if (!package->weights.empty()) {
    note("hone.weights", package->weights);
    note("hone.weights_id", package->weightsId);
  }
  note(attr::target,
       options.isCuda ? "cuda " + options.cudaArch : "cpu " + options.cpu.name);
  note("hone.compiler", "honec " HONE_VERSION);
  timer.lap("read");
  return Error::success();
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

Error Compilation::runPhases(Phase first, Phase last) {
  for (auto [name, phase] : getPhases()) {
    if (phase < first || phase > last)
      continue;
    OneLineDiagnostics diagnostics(&context, options.package);
    std::string phaseName = name.str();
    // Remarks are for the report.
    mlir::ScopedDiagnosticHandler remarks(&context, [&](auto &diagnostic) {
      if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
        return mlir::failure();
      explanations.push_back({phaseName,
                              describeLocation(diagnostic.getLocation()),
                              diagnostic.str()});
      return mlir::success();
    });
    mlir::PassManager manager(&context);
    PipelineOptions pipeline = options.pipeline;
    pipeline.report = !options.report.empty();
    pipeline.attentionTool = findAttentionPlanner(tool);
    pipeline.emulate = options.emulates;
    buildPhase(phase, manager, pipeline);
    if (failed(manager.run(*module)))
      return diagnostics.failed()
                 ? alreadyPrinted()
                 : makeError(options.package + ": phase " + name + " failed");
    timer.lap(name);
  }
  return Error::success();
}

llvm::Expected<plan::ProgramOp> Compilation::getProgram() {
  auto programs = module->getOps<plan::ProgramOp>();
  if (programs.empty())
    return makeError(options.package + ": the plan phase left no program");
  return *programs.begin();
}

/// Values of more bytes are not printed: text of them would be several times as
/// long, and they are in the package.
static constexpr size_t maxPrintedBytes = 65536;

static std::string elisionNote(StringRef comment, int count) {
  if (count == 0)
    return "";
  return llvm::formatv("{0} left out, of more than {1} bytes each: values of "
                       "{2} buffer(s), which are in consts.safetensors\n",
                       comment, maxPrintedBytes, count);
}

std::string Compilation::printModule() {
  mlir::OwningOpRef<mlir::ModuleOp> printed = module->clone();
  llvm::SmallDenseSet<mlir::Attribute> elided;
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](mlir::DictionaryAttr init) -> std::optional<mlir::Attribute> {
        auto data = init.getAs<mlir::StringAttr>("data");
        if (!data || data.size() <= maxPrintedBytes)
          return std::nullopt;
        elided.insert(data);
        mlir::NamedAttrList entries(init);
        entries.erase("data");
        return entries.getDictionary(init.getContext());
      });
  replacer.recursivelyReplaceElementsIn(*printed);
  std::string text = elisionNote("//", elided.size());
  llvm::raw_string_ostream stream(text);
  printed->print(stream);
  return text + "\n";
}

/// The same for LLVM IR, where such a value becomes a declaration.
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
  Error error = linkExecutable({tool.str(), std::string(resources),
                                std::string(path), output.temporaryPath().str(),
                                options.emulates, options.bringsHostKernels});
  if (!error)
    return error;
  return makeError(options.output + ": " + llvm::toString(std::move(error)));
}

/// Compiles the kernels of a GPU and leaves the host's part of the program.
Error Compilation::lowerDevice() {
  OneLineDiagnostics diagnostics(&context, options.package);
  mlir::PassManager manager(&context);
  buildDevicePhase(manager);
  if (failed(manager.run(*module)))
    return diagnostics.failed()
               ? alreadyPrinted()
               : makeError(options.package + ": phase device failed");
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
    return makeError(options.package + ": " + llvm::toString(std::move(error)));
  llvm::Expected<DeviceCode> compiled = compileDevice(
      *module, *target, options.emulates || options.bringsHostKernels,
      options.cpu, *machine, llvmContext);
  if (!compiled)
    return makeError(options.package + ": " +
                     llvm::toString(compiled.takeError()));
  device = std::move(*compiled);
  timer.lap("ptx");
  return Error::success();
}

/// Translates to LLVM IR and writes what comes of it.
Error Compilation::writeBinary(OutputFile &output) {
  std::unique_ptr<llvm::Module> code;
  {
    OneLineDiagnostics diagnostics(&context, options.package);
    code = translateToLLVM(*module, options.cpu, *machine, llvmContext);
    if (!code)
      return diagnostics.failed()
                 ? alreadyPrinted()
                 : makeError(options.package + ": no LLVM IR was made");
  }
  optimize(*code, *machine);
  // The emulation must stay as it is.
  if (device.emulated &&
      llvm::Linker::linkModules(*code, std::move(device.emulated)))
    return makeError(options.package + ": the emulation cannot be linked");
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
  Summary summary = summarize(*program, options.pipeline.microBatches, target);
  summary.limit = limit;
  summary.modelFlops = modelFlops;
  if (cluster)
    useCluster(machine, *cluster, options.cluster);
  for (auto &[bytes, seconds] : summary.memory.curve)
    seconds /= machine.computingSpeed;
  std::optional<JobSummary> job;
  if (summary.mesh)
    job = summarizeJob(summary, machine);
  if (options.dryRun)
    printDryRun(summary, machine, job ? &*job : nullptr);
  return options.report.empty()
             ? Error::success()
             : writeReport(options.report,
                           makeReport(summary, machine, job ? &*job : nullptr,
                                      explanations));
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

/// Runs the phases that `options.emit` needs and writes what they leave.
Error Compilation::emit(OutputFile &output) {
  bool isBinary = options.emit != Emit::MLIR && options.emit != Emit::Plan;
  if (options.emit == Emit::MLIR)
    if (Error error = output.write(printModule()))
      return error;
  if (options.emit != Emit::MLIR || !options.report.empty())
    if (Error error = plan())
      return error;
  if (options.emit == Emit::Plan)
    if (Error error = output.write(printModule()))
      return error;
  if (isBinary) {
    machine = createMachine(options.cpu);
    noteCpu();
    if (Error error = runPhases(Phase::Lower, Phase::Lower))
      return error;
    if (options.isCuda)
      if (Error error = lowerDevice())
        return error;
    if (options.emit == Emit::PTX) {
      if (Error error = output.write(device.ptx))
        return error;
      return output.commit();
    }
    if (Error error = runPhases(Phase::LLVM, Phase::LLVM))
      return error;
    if (Error error = writeBinary(output))
      return error;
  }
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
  if (Error error = readModule())
    return error;
  if (!options.cluster.empty())
    if (Error error = readCluster())
      return error;
  if (Error error = runPhases(Phase::Import, Phase::Step))
    return error;
  modelFlops = hone::modelFlops(*module, options.pipeline.microBatches);
  if (Error error = runPhases(Phase::Shard, Phase::Shard))
    return error;
  if (options.isCuda && options.dryRun)
    limit = findLibraryRoofline(*module, options.pipeline.microBatches,
                                *getTarget(*module));
  if (Error error = runPhases(Phase::Fuse, Phase::Checkpoint))
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
