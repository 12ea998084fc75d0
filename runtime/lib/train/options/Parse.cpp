//===- Parse.cpp - From arguments to options ------------------------------===//

#include "base/NearestName.h"
#include "train/options/FilesInFolders.h"
#include "train/options/Recorded.h"
#include "train/options/Rules.h"
#include "train/options/RunLength.h"

#include <algorithm>
#include <cstring>

using namespace honert;

static Status unknownFlag(const std::string &name,
                          const std::vector<Flag> &flags,
                          const std::string &previous) {
  if (name[0] != '-' && (previous == "--data" || previous == "--val-data"))
    return Status::usage(name +
                         ": unknown, expected a flag of --help (a "
                         "pattern in quotes is expanded by this "
                         "program: " +
                         previous + " 'DIR/*.bin')");
  std::vector<std::string> names;
  for (const Flag &flag : flags)
    names.push_back(std::string("--") + flag.name);
  std::string nearest(nearestName(name, {names.begin(), names.end()}));
  return Status::usage(
      name + (nearest.empty() ? ": unknown, expected a flag of --help"
                              : ": unknown; did you mean " + nearest + "?"));
}

/// Splits the arguments into flags and values.
static Status splitArguments(int argc, char **argv,
                             const std::vector<Flag> &flags,
                             std::vector<GivenFlag> &given) {
  std::string previous;
  std::set<std::string> seen;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    size_t equals = argument.find('=');
    bool hasValue = equals != std::string::npos;
    std::string name = argument.substr(0, equals);
    const Flag *flag =
        name.rfind("--", 0) == 0 ? findFlag(flags, name.substr(2)) : nullptr;
    if (!flag)
      return unknownFlag(name, flags, previous);
    previous = name;
    if (hasValue)
      value = argument.substr(equals + 1);
    bool isOff = !flag->valueName && value == "false";
    if (hasValue && !flag->valueName && !isOff)
      return Status::usage(name + ": takes no value, '" + value +
                           "' was given");
    // What may stand alone takes the next word if that is no flag.
    bool isAlone = flag->otherwise && (i + 1 == argc || argv[i + 1][0] == '-');
    if (!hasValue && isAlone)
      value = flag->otherwise;
    else if (!hasValue && flag->valueName) {
      if (i + 1 == argc)
        return Status::usage(name + ": no value, expected " + flag->valueName);
      value = argv[++i];
    }
    if (!seen.insert(flag->name).second && !flag->mayRepeat)
      return Status::usage(name + ": given twice, expected once");
    given.push_back({flag, value, isOff});
  }
  return Status();
}

/// Reads the flags of the command line, and with --resume DIR those of the run
/// there.
static Status readFlags(int argc, char **argv, Options &options,
                        std::set<std::string> &names, RunFlags &record) {
  std::vector<Flag> flags = makeFlags(options);
  std::vector<GivenFlag> given;
  HONERT_TRY(splitArguments(argc, argv, flags, given));
  size_t ofCommandLine = given.size();
  for (size_t i = 0; i != ofCommandLine; ++i)
    if (std::strcmp(given[i].flag->name, "resume") == 0 &&
        !given[i].value.empty())
      HONERT_TRY(addRecorded(given[i].value, flags, given, record, options));
  for (size_t i = 0; i != given.size(); ++i) {
    const auto &[flag, value, isOff] = given[i];
    if (isOff)
      continue;
    names.insert(flag->name);
    if (flag->isOfRun)
      options.given.flags.emplace_back(flag->name, value);
    if (Status status = flag->value.read(value); !status.ok())
      return Status::usage(std::string("--") + flag->name + ": " +
                           status.message());
  }
  options.given.folder = currentFolder();
  if (options.resumeFrom.empty())
    return Status();
  if (options.checkpoints.empty())
    options.checkpoints = options.resumeFrom;
  if (options.checkpoints != options.resumeFrom)
    return Status::usage("--checkpoint-dir: " + options.checkpoints +
                         ", expected " + options.resumeFrom +
                         ", from which --resume goes on");
  names.insert("checkpoint-dir");
  return Status();
}

/// Finds the files of --data and --val-data, and how many steps they make.
static Status findFiles(const Program &program, const RunFlags &record,
                        Options &options) {
  Status found = findSources("--data", options.data, /*takesWeights=*/true,
                             options.sources);
  if (found.ok())
    found = findSources("--val-data", options.validation,
                        /*takesWeights=*/false, options.validationSources);
  bool isElsewhere =
      !record.folder.empty() && record.folder != options.given.folder;
  if (isElsewhere && found.exitCode() == 1)
    return Status::error(found.message() + "; " + startedElsewhere(record));
  HONERT_TRY(found);
  if (isElsewhere)
    HONERT_TRY(checkFound(record, options));
  return resolveSteps(program, options);
}

Status honert::parseOptions(const Program &program, int argc, char **argv,
                            Options &options) {
  options.program = argc > 0 ? argv[0] : "./train";
  options.learningRate = program.number("lr", 0);
  options.weightDecay = program.number("weight_decay", 0);
  options.clip = program.number("clip", 0);
  std::set<std::string> given;
  RunFlags record;
  HONERT_TRY(readFlags(argc, argv, options, given, record));
  if (options.onlyGenerates() && !given.count("steps"))
    options.steps = 0;
  if (options.help || options.helpJson || options.version)
    return Status();
  if (!options.onlyInspects()) {
    HONERT_TRY(findFilesInFolders(options));
    HONERT_TRY(findFiles(program, record, options));
  }
  HONERT_TRY(checkRules(given, program, options));
  if (!given.count("min-lr"))
    options.minLearningRate = options.learningRate / 10;
  return Status();
}
