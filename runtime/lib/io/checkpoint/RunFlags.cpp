//===- RunFlags.cpp - With which flags a run goes on ----------------------===//

#include "io/checkpoint/RunFlags.h"
#include "base/Files.h"
#include "base/Json.h"

#include <algorithm>
#include <climits>
#include <set>
#include <unistd.h>

using namespace honert;

std::string honert::currentFolder() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) ? path : "";
}

std::vector<std::string> RunFlags::valuesOf(const std::string &name) const {
  std::vector<std::string> values;
  for (const auto &[flag, value] : flags)
    if (flag == name)
      values.push_back(value);
  return values;
}

Status RunFlags::write(const std::string &checkpoints) const {
  std::string text = "{\"folder\":" + quoteJson(folder) + ",\n\"flags\":[";
  const char *separator = "\n";
  for (const auto &[name, value] : flags) {
    text += separator + ("[" + quoteJson(name) + "," + quoteJson(value) + "]");
    separator = ",\n";
  }
  text += "]}\n";
  std::string path = checkpoints + "/" + fileName;
  AtomicFile file;
  HONERT_TRY(file.create(path));
  HONERT_TRY(file.write(text.data(), static_cast<int64_t>(text.size())));
  HONERT_TRY(file.commit());
  return syncFolder(checkpoints);
}

Status RunFlags::read(const std::string &checkpoints, bool &isThere) {
  constexpr int64_t mostBytes = 16 << 20; // a list of files may be long
  std::string path = checkpoints + "/" + fileName;
  isThere = fileExists(path);
  if (!isThere)
    return Status();
  ReadFile file;
  HONERT_TRY(file.open(path));
  std::string text(static_cast<size_t>(std::min(file.size(), mostBytes)), '\0');
  HONERT_TRY(file.readAt(0, text.data(), static_cast<int64_t>(text.size())));
  JsonReader json(text);
  std::set<std::string> keys;
  auto readFlag = [&] {
    std::vector<std::string> words;
    return json.readArray([&] {
      return json.readString(words.emplace_back());
    }) && (words.size() == 2 || json.fail("expected a name and a value")) &&
           (flags.emplace_back(words[0], words[1]), true);
  };
  bool isRead = json.readObject([&](const std::string &key) {
    keys.insert(key);
    if (key == "folder")
      return json.readString(folder);
    return key == "flags" ? json.readArray(readFlag)
                          : json.fail("unknown key '" + key + "'");
  }) && json.readEnd() &&
                (keys.size() == 2 || json.fail("expected folder and flags"));
  if (!isRead)
    return Status::usage(path + ": holds no flags of a run (" + json.mistake() +
                         "); remove it, and give all flags again");
  return Status();
}
