//===- Options.cpp - Command line of honec --------------------------------===//

#include "hone/Driver/Options.h"

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/GPU/DeviceCode.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using namespace hone::driver;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// "is VALUE, expected EXPECTED"; the option's name is put in front.
static Error wrongValue(StringRef value, const Twine &expected) {
  return makeError("is '" + value + "', expected " + expected);
}

/// The same where `expected` lists all words that there are, as "a, b or c";
/// the nearest is named.
static Error wrongWord(StringRef value, const Twine &expected) {
  return wrongValue(value, suggestWord(value, expected));
}

//===----------------------------------------------------------------------===//
// Options of honec alone, one function each
//===----------------------------------------------------------------------===//

static Error setOutput(StringRef value, Options &options) {
  options.output = value.str();
  return value.empty() ? wrongValue(value, "a file") : Error::success();
}

static Error setTarget(StringRef value, Options &options) {
  options.isCuda = value == "cuda";
  return value == "cpu" || options.isCuda ? Error::success()
                                          : wrongWord(value, "cpu or cuda");
}

static Error setArch(StringRef value, Options &options) {
  if (value.starts_with("sm_")) {
    options.cudaArch = value.str();
    return selectDevice(value).takeError();
  }
  llvm::Expected<CpuTarget> cpu = selectCpu(value);
  if (cpu)
    options.cpu = std::move(*cpu);
  return cpu.takeError();
}

static Error setDevice(StringRef value, Options &options) {
  if (!findDevice(value))
    return wrongValue(value, "a GPU, as " + listDevices(value));
  options.device = value.str();
  return Error::success();
}

static Error setCluster(StringRef value, Options &options) {
  options.cluster = value.str();
  return value.empty() ? wrongValue(value, "a file") : Error::success();
}

static Error setEmit(StringRef value, Options &options) {
  auto emit = llvm::StringSwitch<std::optional<Emit>>(value)
                  .Case("mlir", Emit::MLIR)
                  .Case("plan", Emit::Plan)
                  .Case("llvm", Emit::LLVM)
                  .Case("ptx", Emit::PTX)
                  .Case("obj", Emit::Object)
                  .Case("exe", Emit::Executable)
                  .Case("so", Emit::SharedObject)
                  .Default(std::nullopt);
  if (!emit)
    return wrongWord(value, "mlir, plan, llvm, ptx, obj, so or exe");
  options.emit = *emit;
  return Error::success();
}

static Error setEmulate(StringRef, Options &options) {
  options.emulates = true;
  return Error::success();
}

static Error setHostKernels(StringRef, Options &options) {
  options.bringsHostKernels = true;
  return Error::success();
}

static Error setReport(StringRef value, Options &options) {
  options.report = value.str();
  return value.empty() ? wrongValue(value, "a directory") : Error::success();
}

static Error setScheduleDump(StringRef value, Options &options) {
  options.scheduleDump = value.str();
  return value.ends_with(".svg") || value.ends_with(".csv")
             ? Error::success()
             : wrongValue(value, "a file FILE.svg or FILE.csv");
}

static Error setDryRun(StringRef, Options &options) {
  options.dryRun = true;
  return Error::success();
}

static Error setSearchMesh(StringRef value, Options &options) {
  constexpr int64_t most = 1 << 20;
  if (value.getAsInteger(10, options.searchedRanks) ||
      options.searchedRanks < 1 || options.searchedRanks > most)
    return wrongValue(value, "a number of ranks from 1 to " + Twine(most));
  return Error::success();
}

static Error setComparePlan(StringRef value, Options &options) {
  llvm::Expected<search::Plan> plan = search::parsePlan(value);
  if (plan)
    options.comparedPlan = std::move(*plan);
  return plan.takeError();
}

static Error setTextPackage(StringRef value, Options &options) {
  options.textPackage = value.str();
  return value.empty() ? wrongValue(value, "a package or none")
                       : Error::success();
}

static Error addPlugin(StringRef value, Options &options) {
  options.plugins.push_back(value.str());
  return value.empty() ? wrongValue(value, "a shared library")
                       : Error::success();
}

static Error addInsertion(StringRef value, Options &options) {
  auto [pass, place] = value.rsplit('@');
  if (pass.empty() || !place.consume_front("after:"))
    return wrongValue(value, "PASS@after:PHASE");
  std::string phases = listPhases();
  if (!isWordOf(place, phases))
    return makeError("is after '" + place + "', expected " +
                     suggestWord(place, phases));
  options.insertions.push_back({pass.str(), phaseOf(place)});
  return Error::success();
}

static Error setTimePhases(StringRef, Options &options) {
  options.timePhases = true;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// An option of honec alone, or a row of Options.def.
struct OptionRow {
  std::string name;
  std::string value; ///< what stands for the value in the help, "": a flag
  std::string help;
  std::function<Error(StringRef value, Options &options)> set;
  bool mayRepeat = false;
};
} // namespace

static Error setPipelineOption(const PipelineOption &option, StringRef value,
                               Options &options) {
  std::optional<RefusedValue> refused = option.read(value, options.pipeline);
  return refused ? wrongValue(refused->value, refused->expected)
                 : Error::success();
}

static void addPipelineOptions(std::vector<OptionRow> &rows) {
  for (const PipelineOption &option : getPipelineOptions())
    if (option.reach >= OptionReach::HonecToo)
      rows.push_back({"--" + option.name.str(), option.value.str(),
                      option.describe(PipelineOptions()),
                      [&option](StringRef value, Options &options) {
                        return setPipelineOption(option, value, options);
                      }});
}

static std::vector<OptionRow> makeRows() {
  std::vector<OptionRow> rows = {
      {"-o", "FILE", "what to write; - is standard output, for text",
       setOutput},
      {"--target", "cpu", "machine to compile for: cpu or cuda", setTarget},
      {"--arch", "CPU",
       "native (default), x86-64-v3, x86-64-v4, znver4, sm_90, ...", setArch},
      {"--device", "NAME",
       "GPU that memory and times are planned for, as H100 or RTX 4090; also "
       "gives --arch (default: A100 of sm_80, H200 of sm_90, B200 "
       "of sm_100)",
       setDevice}};
  addPipelineOptions(rows);
  std::vector<OptionRow> others = {
      {"--cluster", "FILE",
       "links of the machines, to divide by; rates, to estimate by",
       setCluster},
      {"--emit", "WHAT",
       "exe (default), so: to train in a process of yours, obj, ptx, llvm, "
       "plan, "
       "or mlir: the module behind --upto, or before planning",
       setEmit},
      {"--package", "DIR",
       "with --from: the package that the text was made of, if the text does "
       "not say; none: no package",
       setTextPackage},
      {"--plugin", "FILE", "load passes from a shared library; repeatable",
       addPlugin, /*mayRepeat=*/true},
      {"--insert", "PASS@after:PHASE",
       "run a pass, of a plugin or of Hone, behind a phase, and the phase's "
       "verifier again; repeatable",
       addInsertion, /*mayRepeat=*/true},
      {"--emulate", "",
       "with --target=cuda: the binary brings a GPU, one thread at a time, for "
       "tests",
       setEmulate},
      {"--host-kernels", "",
       "with --target=cuda: the binary holds its kernels for the host too, "
       "which "
       "--compare-launches compares a GPU's with",
       setHostKernels},
      {"--report", "DIR",
       "write report.json there, and index.html, a page of it", setReport},
      {"--dry-run", "", "say what it needs and how fast it may be; no output",
       setDryRun},
      {"--dump-schedule", "FILE",
       "with axis pp: what each stage runs in which order, FILE.csv as "
       "--schedule=file: reads it, or FILE.svg, a picture of estimated times",
       setScheduleDump},
      {"--search-mesh", "N",
       "rank meshes, recipes and schedules for N ranks by estimates; no output",
       setSearchMesh},
      {"--compare-plan", "PLAN",
       "with --search-mesh: estimate this one too, as pp=2,dp=2,tp=2,sp,1f1b",
       setComparePlan},
      {"--time-phases", "", "print the milliseconds of each phase",
       setTimePhases}};
  llvm::append_range(rows, others);
  return rows;
}

static const std::vector<OptionRow> &getRows() {
  static const std::vector<OptionRow> rows = makeRows();
  return rows;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static void printHelp() {
  llvm::raw_ostream &out = llvm::outs();
  out << "usage: honec PACKAGE.hone -o FILE [options]\n"
         "       honec FILE.mlir --from=PHASE -o FILE [options]\n\n"
         "Compiles an exported model into one executable that trains it; or a "
         "module that\nan earlier --emit=mlir --upto=PHASE has left, - for "
         "standard input.\n\n";
  for (const OptionRow &row : getRows()) {
    std::string left = row.name;
    if (!row.value.empty())
      left += (row.name == "-o" ? " " : "=") + row.value;
    out << "  " << left << std::string(std::max<int>(1, 24 - left.size()), ' ')
        << row.help << '\n';
  }
  out << "  --help                  print this\n"
         "  --help-json             print the options as JSON\n"
         "  --version               print the version\n";
}

/// {"options": [{"name", "value", "help"}]}, names without dashes; "value" is
/// null for a flag.
static void printHelpJson() {
  llvm::json::OStream json(llvm::outs(), /*IndentSize=*/1);
  json.object([&] {
    json.attributeArray("options", [&] {
      for (const OptionRow &row : getRows())
        json.object([&] {
          json.attribute("name", StringRef(row.name).ltrim('-'));
          json.attribute("value", row.value.empty()
                                      ? llvm::json::Value(nullptr)
                                      : llvm::json::Value(row.value));
          json.attribute("help", row.help);
        });
    });
  });
  llvm::outs() << '\n';
}

static int usageError(const Twine &message) {
  printError(message);
  return 2;
}

static llvm::SmallVector<StringRef> optionNames() {
  llvm::SmallVector<StringRef> names = {"--help", "--help-json", "--version"};
  for (const OptionRow &row : getRows())
    names.push_back(row.name);
  return names;
}

static const OptionRow *findRow(StringRef name) {
  for (const OptionRow &row : getRows())
    if (row.name == name)
      return &row;
  return nullptr;
}

/// The options that say which phases run: 2 after one line if they contradict
/// each other, or others have nothing to do in these phases.
static std::optional<int>
completePhases(const llvm::StringMap<std::string> &given, Options &options) {
  PipelineOptions &pipeline = options.pipeline;
  options.readsText = given.count("--from");
  options.writesText = given.count("--upto");
  if (given.count("--upto") && options.emit != Emit::MLIR)
    return usageError("--upto: expected --emit=mlir with it");
  if (options.emit == Emit::Plan || options.dryRun)
    pipeline.upto = nameOf(Phase::Plan);
  else if (options.searchedRanks != 0)
    pipeline.upto = nameOf(Phase::Step);
  else if (options.emit == Emit::MLIR && !given.count("--upto"))
    pipeline.upto = nameOf(Phase::Checkpoint);
  Phase from = phaseOf(pipeline.from), upto = phaseOf(pipeline.upto);
  if (from > upto)
    return usageError("--from: is '" + pipeline.from +
                      "', expected a phase up to '" + pipeline.upto +
                      "', the last to run");
  if (options.isCuda && options.emit == Emit::MLIR && upto == Phase::LLVM)
    return usageError("--upto: is 'llvm', expected lower or an earlier phase "
                      "for cuda, whose kernels leave the module there");
  if (!options.readsText && !options.textPackage.empty())
    return usageError("--package: expected --from with it");
  // They compare the plan with the undivided step, which is before sharding.
  for (StringRef name : {"--dry-run", "--report", "--dump-schedule"})
    if (given.count(name) && from > Phase::Shard)
      return usageError(name + ": expected --from=shard or an earlier phase "
                               "with it");
  for (StringRef name : {"--report", "--dump-schedule"})
    if (given.count(name) && upto < Phase::Checkpoint)
      return usageError(name + ": expected --upto=checkpoint or a later phase "
                               "with it");
  for (const PipelineOption &row : getPipelineOptions()) {
    if (!given.count(("--" + row.name).str()) ||
        row.reach < OptionReach::HonecToo)
      continue;
    if (row.last < from)
      return usageError("--" + row.name + ": is for the phases up to " +
                        nameOf(row.last) + ", expected it where these ran, " +
                        "before --from=" + pipeline.from);
    if (given.count("--upto") && row.first > upto)
      return usageError("--" + row.name + ": is for the phases from " +
                        nameOf(row.first) + " on, expected it where these " +
                        "run, behind --upto=" + pipeline.upto);
  }
  for (const Insertion &insertion : options.insertions)
    if (insertion.after < from || insertion.after > upto)
      return usageError("--insert: is after '" + nameOf(insertion.after) +
                        "', expected one of the phases that run, " +
                        pipeline.from + " to " + pipeline.upto);
  return std::nullopt;
}

/// Options that say what a search has to find, or ask for something else.
static std::optional<int> checkSearch(const llvm::StringMap<std::string> &given,
                                      const Options &options) {
  if (options.searchedRanks == 0)
    return options.comparedPlan
               ? std::optional<int>(usageError(
                     "--compare-plan: expected --search-mesh=N with it"))
               : std::nullopt;
  for (StringRef name : {"--mesh", "--recipe", "--dry-run", "--emit",
                         "--report", "--memory-budget", "--upto", "--exact"})
    if (given.count(name))
      return usageError("--search-mesh: finds a mesh and writes nothing, "
                        "expected no " +
                        name + " with it");
  if (options.comparedPlan &&
      options.comparedPlan->ranks() != options.searchedRanks)
    return usageError(
        "--compare-plan: is of " + Twine(options.comparedPlan->ranks()) +
        " ranks, expected a plan of " + Twine(options.searchedRanks));
  return std::nullopt;
}

static int64_t numberOf(StringRef arch) {
  return llvm::cantFail(selectDevice(arch)).arch;
}

/// A named GPU gives the architecture, or has to run what was named.
static std::optional<int>
completeDevice(const llvm::StringMap<std::string> &given, Options &options) {
  if (options.device.empty())
    return std::nullopt;
  if (!options.isCuda)
    return usageError("--device: is '" + options.device +
                      "', expected --target=cuda with it");
  StringRef arch = findDevice(options.device)->arch;
  if (!given.count("--arch"))
    options.cudaArch = arch.str();
  else if (!options.cudaArch.empty() &&
           numberOf(options.cudaArch) > numberOf(arch))
    return usageError("--arch: is '" + options.cudaArch + "', expected " +
                      arch + " or older for --device=" + options.device);
  return std::nullopt;
}

/// What options say together: 2 after one line if they contradict each other.
static std::optional<int>
completeOptions(const llvm::StringMap<std::string> &given, Options &options) {
  bool isText = options.emit != Emit::Object &&
                options.emit != Emit::Executable &&
                options.emit != Emit::SharedObject;
  if (options.package.empty())
    return usageError("no package given, expected a directory NAME.hone");
  if (options.package == "-" && !given.count("--from"))
    return usageError("-: is text of a module, expected --from=PHASE with it");
  if (options.dryRun && given.count("--emit"))
    return usageError("--dry-run: writes nothing, expected no --emit");
  if (std::optional<int> code = checkSearch(given, options))
    return code;
  if (options.output.empty() && !options.onlyReports() && !isText)
    return usageError("-o: missing, expected a file to write");
  if (options.output == "-" && !isText)
    return usageError("-o: is '-', expected a file for a binary");
  if (options.output.empty())
    options.output = "-";
  if (!given.count("--target") &&
      (!options.cudaArch.empty() || !options.device.empty()))
    options.isCuda = true; // only a GPU is called so
  if (std::optional<int> code = completeDevice(given, options))
    return code;
  if (std::optional<int> code = completePhases(given, options))
    return code;
  if (options.isCuda && options.pipeline.exact)
    return usageError("--exact: expected --target=cpu with it, whose products "
                      "add in order");
  if (!options.isCuda && options.emit == Emit::PTX)
    return usageError("--emit: is 'ptx', expected --target=cuda with it");
  if (!options.isCuda && options.emulates)
    return usageError("--emulate: expected --target=cuda with it");
  if (!options.isCuda && options.bringsHostKernels)
    return usageError("--host-kernels: expected --target=cuda with it");
  if (!options.isCuda && options.pipeline.deterministicAttention)
    return usageError("--deterministic-attention: expected --target=cuda with "
                      "it");
  if (!options.isCuda && !options.cudaArch.empty())
    return usageError("--arch: is '" + options.cudaArch +
                      "', expected a CPU with --target=cpu");
  if (options.isCuda && given.count("--arch") && options.cudaArch.empty())
    return usageError("--arch: is '" + given.lookup("--arch") +
                      "', expected sm_80, sm_90 or newer for cuda");
  if (Error error = options.pipeline.readRanks())
    return usageError(llvm::toString(std::move(error)));
  if (!options.scheduleDump.empty() && options.pipeline.ranks.stages == 1)
    return usageError("--dump-schedule: expected an axis pp of the mesh with "
                      "it, as --mesh=pp=2");
  if (options.emit == Emit::SharedObject && !options.pipeline.mesh.empty())
    return usageError("--mesh: is '" + options.pipeline.mesh +
                      "', expected none with --emit=so, whose program is one "
                      "process; --emit=exe makes one of several ranks");
  if (!given.count("--arch") || options.isCuda)
    // A program that compares a GPU with the host runs where the GPU is.
    options.cpu = llvm::cantFail(
        selectCpu(options.bringsHostKernels && !options.emulates ? "x86-64-v3"
                                                                 : "native"));
  return std::nullopt;
}

std::optional<int> hone::driver::parseOptions(int argc, char **argv,
                                              Options &options) {
  llvm::StringMap<std::string> given;
  for (int index = 1; index < argc; ++index) {
    StringRef argument = argv[index];
    if (argument == "--help" || argument == "-h") {
      printHelp();
      return 0;
    }
    if (argument == "--help-json") {
      printHelpJson();
      return 0;
    }
    if (argument == "--version") {
      llvm::outs() << "honec " HONE_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
      return 0;
    }
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.package.empty())
        return usageError("'" + argument + "': unexpected, expected one " +
                          "package, which is '" + options.package + "'");
      options.package = argument.str();
      continue;
    }
    auto [name, value] = argument.split('=');
    const OptionRow *row = findRow(name);
    if (!row)
      return usageError(name + ": unknown option, see honec --help" +
                        suggestName(name, optionNames()));
    bool hasValue = argument.contains('=');
    if (row->value.empty() && hasValue)
      return usageError(name + ": has value '" + value + "', expected none");
    if (!row->value.empty() && !hasValue) {
      if (++index == argc)
        return usageError(name + ": no value, expected " + row->value);
      value = argv[index];
    }
    auto [before, isFirst] = given.try_emplace(name, value.str());
    options.given.push_back(value.empty() ? name.str()
                                          : (name + "=" + value).str());
    if (!isFirst && !row->mayRepeat && before->second != value)
      return usageError(name + ": given twice, as '" + before->second +
                        "' and '" + value + "'");
    if (Error error = row->set(value, options))
      return usageError(name + ": " + llvm::toString(std::move(error)));
  }
  return completeOptions(given, options);
}
