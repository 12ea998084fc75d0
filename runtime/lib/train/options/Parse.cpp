//===- Parse.cpp - From arguments to options ------------------------------===//

#include "base/NearestName.h"
#include "train/options/Flags.h"
#include "train/options/Rules.h"
#include "train/options/RunLength.h"

#include <algorithm>

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

/// Splits the arguments into flags and values and hands these to the readers.
static Status readFlags(int argc, char **argv, Options &options,
                        std::set<std::string> &given) {
  std::vector<Flag> flags = makeFlags(options);
  std::string previous;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    size_t equals = argument.find('=');
    bool hasValue = equals != std::string::npos;
    std::string name = argument.substr(0, equals);
    auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag &each) {
      return name == std::string("--") + each.name;
    });
    if (flag == flags.end())
      return unknownFlag(name, flags, previous);
    previous = name;
    if (hasValue && !flag->valueName)
      return Status::usage(name + ": takes no value, '" +
                           argument.substr(equals + 1) + "' was given");
    if (hasValue)
      value = argument.substr(equals + 1);
    else if (flag->otherwise)
      value = flag->otherwise;
    else if (flag->valueName) {
      if (i + 1 == argc)
        return Status::usage(name + ": no value, expected " + flag->valueName);
      value = argv[++i];
    }
    if (!given.insert(flag->name).second && !flag->mayRepeat)
      return Status::usage(name + ": given twice, expected once");
    if (Status status = flag->value.read(value); !status.ok())
      return Status::usage(name + ": " + status.message());
  }
  return Status();
}

Status honert::parseOptions(const Program &program, int argc, char **argv,
                            Options &options) {
  options.learningRate = program.number("lr", 0);
  options.weightDecay = program.number("weight_decay", 0);
  options.clip = program.number("clip", 0);
  std::set<std::string> given;
  HONERT_TRY(readFlags(argc, argv, options, given));
  if (options.onlyGenerates() && !given.count("steps"))
    options.steps = 0;
  if (options.help || options.helpJson || options.version)
    return Status();
  if (!options.onlyInspects()) {
    HONERT_TRY(findSources("--data", options.data, /*takesWeights=*/true,
                           options.sources));
    HONERT_TRY(findSources("--val-data", options.validation,
                           /*takesWeights=*/false, options.validationSources));
    HONERT_TRY(resolveSteps(program, options));
  }
  HONERT_TRY(checkRules(given, program, options));
  if (!given.count("min-lr"))
    options.minLearningRate = options.learningRate / 10;
  return Status();
}
