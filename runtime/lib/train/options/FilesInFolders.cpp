//===- FilesInFolders.cpp - Flags that name a file by its folder ----------===//

#include "train/options/FilesInFolders.h"
#include "base/Files.h"
#include "io/checkpoint/Folder.h"

#include <fstream>

using namespace honert;

/// "a, b, c and 4 more": what a folder holds.
static Status listed(const std::string &folder, std::string &text) {
  constexpr size_t most = 8;
  std::vector<std::string> names;
  HONERT_TRY(listFolder(folder, names));
  text = names.empty() ? "nothing" : "";
  for (size_t i = 0; i != std::min(most, names.size()); ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > most)
    text += format(" and %zu more", names.size() - most);
  return Status();
}

/// The name of the newest checkpoint in a folder of them; empty if it has none.
static std::string latestIn(const std::string &folder) {
  std::ifstream file(folder + "/latest");
  std::string name;
  return file >> name ? name : "";
}

static Status notFound(const char *flag, const std::string &folder,
                       const std::string &expected) {
  std::string found;
  HONERT_TRY(listed(folder, found));
  return Status::error(format("--%s: %s: expected %s in this folder, found %s",
                              flag, folder.c_str(), expected.c_str(),
                              found.c_str()));
}

static Status findWeights(std::string &init) {
  if (!isFolder(init))
    return Status();
  std::vector<std::string> candidates = {init + "/model.safetensors",
                                         init + "/" + stateName};
  if (std::string latest = latestIn(init); !latest.empty())
    candidates.push_back(init + "/" + latest + "/" + stateName);
  for (const std::string &path : candidates)
    if (isRegularFile(path)) {
      init = path;
      return Status();
    }
  const char *index = "model.safetensors.index.json";
  if (isRegularFile(init + "/" + index))
    return Status::error(format(
        "--init: %s: expected model.safetensors in this folder, found %s: "
        "weights in several files are not read; hone export %s --weights "
        "makes a package that holds them",
        init.c_str(), index, init.c_str()));
  return notFound("init", init,
                  std::string("model.safetensors, ") + stateName +
                      " (a checkpoint) or latest (checkpoints)");
}

Status honert::findFilesInFolders(Options &options) {
  HONERT_TRY(findWeights(options.init));
  if (!isFolder(options.tokenizer))
    return Status();
  std::string path = options.tokenizer + "/tokenizer.json";
  if (!isRegularFile(path))
    return notFound("tokenizer", options.tokenizer, "tokenizer.json");
  options.tokenizer = path;
  return Status();
}
