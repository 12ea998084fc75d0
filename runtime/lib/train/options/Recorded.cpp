//===- Recorded.cpp - Flags of a run that goes on -------------------------===//

#include "train/options/Recorded.h"
#include "base/Files.h"

#include <algorithm>

using namespace honert;

static std::string join(const std::vector<std::string> &values,
                        const Flag &flag) {
  if (!flag.valueName)
    return values.empty() ? "false" : "true";
  std::string text;
  for (const std::string &value : values)
    text += (text.empty() ? "" : ", ") + value;
  return text;
}

/// Whether flags that are given now leave no place for a recorded one.
static bool isReplaced(const std::string &recorded,
                       const std::vector<GivenFlag> &given) {
  return std::any_of(given.begin(), given.end(), [&](const GivenFlag &each) {
    std::string name = each.flag->name;
    return name == recorded || (name == "steps" && recorded == "tokens") ||
           (name == "tokens" && recorded == "steps") ||
           (name == "schedule" && recorded == "decay-steps" &&
            each.value != "wsd") ||
           (name == "schedule" && recorded == "min-lr" &&
            each.value == "constant");
  });
}

/// Says how the flags that are given now differ from those of the record.
static void noteChanges(const RunFlags &record, const std::vector<Flag> &flags,
                        const std::vector<GivenFlag> &given, Options &options) {
  for (const Flag &flag : flags) {
    if (!flag.isOfRun)
      continue;
    std::vector<std::string> now, before = record.valuesOf(flag.name);
    bool isGiven = false;
    for (const GivenFlag &each : given)
      if (each.flag == &flag) {
        isGiven = true;
        if (!each.isOff)
          now.push_back(each.value);
      }
    if (now == before || (!isGiven && !isReplaced(flag.name, given)))
      continue;
    options.changes.emplace_back(
        flag.name,
        format("%s %s (before: %s)", flag.name,
               isGiven ? join(now, flag).c_str() : "not given",
               before.empty() ? "not given" : join(before, flag).c_str()));
  }
}

Status honert::addRecorded(const std::string &folder,
                           const std::vector<Flag> &flags,
                           std::vector<GivenFlag> &given, RunFlags &record,
                           Options &options) {
  bool isThere;
  HONERT_TRY(record.read(folder, isThere));
  if (!isThere)
    return Status();
  noteChanges(record, flags, given, options);
  std::vector<GivenFlag> added;
  for (const auto &[name, value] : record.flags) {
    const Flag *flag = findFlag(flags, name);
    if (!flag || !flag->isOfRun)
      return Status::usage(format(
          "%s/%s: has the flag --%s, which this program does not keep; it is "
          "of another version, expected all flags on the command line, with "
          "--checkpoint-dir %s --resume",
          folder.c_str(), RunFlags::fileName, name.c_str(), folder.c_str()));
    if (!isReplaced(name, given))
      added.push_back({flag, value});
  }
  given.insert(given.end(), added.begin(), added.end());
  return Status();
}

std::string honert::startedElsewhere(const RunFlags &record) {
  return "the run was started in " + record.folder +
         ": go on from there, or give the flag again";
}

Status honert::checkFound(const RunFlags &record, const Options &options) {
  std::vector<std::string> paths;
  auto isRecorded = [&](const char *name, const std::string &value) {
    std::vector<std::string> values = record.valuesOf(name);
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  auto addSources = [&](const char *flag,
                        const std::vector<std::string> &values,
                        const std::vector<TokenSource> &sources) {
    if (!values.empty() && isRecorded(flag, values.front()))
      for (const TokenSource &source : sources)
        paths.insert(paths.end(), source.files.begin(), source.files.end());
  };
  addSources("data", options.data, options.sources);
  addSources("val-data", options.validation, options.validationSources);
  for (const auto &[name, path] : options.inputs)
    if (isRecorded("input", name + "=" + path))
      paths.push_back(path);
  for (const auto &[name, path] : options.validationInputs)
    if (isRecorded("val-input", name + "=" + path))
      paths.push_back(path);
  for (const std::string &path : paths)
    if (!fileExists(path))
      return Status::error(path + ": not found from here; " +
                           startedElsewhere(record));
  return Status();
}
