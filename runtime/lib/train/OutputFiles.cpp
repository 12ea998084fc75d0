//===- OutputFiles.cpp - What a run writes over ---------------------------===//

#include "train/OutputFiles.h"
#include "base/Files.h"
#include "io/checkpoint/PackageWeights.h"

#include <sys/stat.h>

using namespace honert;

namespace {
/// A file with the words that a message names it by.
struct NamedFile {
  std::string what, path;
};
} // namespace

static std::vector<NamedFile> outputsOf(const Options &options) {
  std::vector<NamedFile> files = {{"--save", options.save},
                                  {"--log", options.log},
                                  {"--profile", options.profile}};
  if (!options.dump.empty())
    files.push_back({"--dump", options.dump + "/step1.safetensors"});
  return files;
}

static std::vector<NamedFile> inputsOf(const Program &program,
                                       const Options &options) {
  std::vector<NamedFile> files;
  for (const TokenSource &source : options.sources)
    for (const std::string &path : source.files)
      files.push_back({"--data", path});
  for (const TokenSource &source : options.validationSources)
    for (const std::string &path : source.files)
      files.push_back({"--val-data", path});
  files.push_back({"--init", options.init});
  for (const auto &input : options.inputs)
    files.push_back({"--input " + input.first, input.second});
  for (const auto &input : options.validationInputs)
    files.push_back({"--val-input " + input.first, input.second});
  std::string package = program.text("package");
  if (!package.empty())
    for (const char *name : {"model.safetensors", "consts.safetensors",
                             "graph.mlir", "manifest.json"})
      if (isRegularFile(package + "/" + name))
        files.push_back({"a file of the package", package + "/" + name});
  // The package may have moved with the program; a mistake is told later.
  std::string weights;
  if (findPackageWeights(program, weights).ok() && !weights.empty())
    files.push_back({"a file of the package", weights});
  files.push_back({"this program", "/proc/self/exe"});
  return files;
}

/// Both names lead to one file; of files that do not exist yet, to one place.
/// Devices may be given twice.
static bool areOne(const std::string &path, const std::string &other) {
  if (path.empty() || other.empty())
    return false;
  if (path == other)
    return true;
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0)
    return S_ISREG(facts.st_mode) && isSameFile(path, other);
  return baseName(path) == baseName(other) &&
         isSameFile(folderOf(path), folderOf(other));
}

/// `path` is a name that the runtime gives in the folder of checkpoints, or
/// lies in one of these.
static bool isOfCheckpoints(const std::string &path,
                            const std::string &checkpoints) {
  auto isReserved = [](const std::string &name) {
    return name == "latest" || name == "best" || name == ".lock" ||
           name == RunFlags::fileName || name.rfind("step-", 0) == 0 ||
           name.rfind(".tmp-step-", 0) == 0;
  };
  std::string folder = folderOf(path);
  if (isSameFile(folder, checkpoints))
    return isReserved(baseName(path));
  return isReserved(baseName(folder)) &&
         isSameFile(folder + "/..", checkpoints);
}

Status honert::checkOverwriting(const Program &program,
                                const Options &options) {
  std::vector<NamedFile> outputs = outputsOf(options);
  std::vector<NamedFile> inputs = inputsOf(program, options);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto &[what, path] = outputs[i];
    std::vector<NamedFile> others = inputs;
    others.insert(others.end(), outputs.begin() + static_cast<ptrdiff_t>(i) + 1,
                  outputs.end());
    for (const NamedFile &other : others)
      if (areOne(path, other.path))
        return Status::usage(format(
            "%s: %s is %s%s, expected another file", what.c_str(), path.c_str(),
            other.what[0] == '-' ? "the file of " : "", other.what.c_str()));
    if (!path.empty() && !options.checkpoints.empty() &&
        isOfCheckpoints(path, options.checkpoints))
      return Status::usage(format("%s: %s is a name of --checkpoint-dir, "
                                  "expected another file",
                                  what.c_str(), path.c_str()));
  }
  return Status();
}
