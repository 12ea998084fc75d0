//===- Checkpoint.cpp - Runs that survive their process -------------------===//

#include "checkpoint/Checkpoint.h"
#include "checkpoint/SharedFiles.h"
#include "core/Json.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

constexpr const char *stateName = "state.safetensors";
constexpr const char *manifestName = "manifest.json";
constexpr const char *temporaryPrefix = ".tmp-step-";
constexpr uint64_t manifestFormat = 2; // 1: another checksum of the state
constexpr size_t kept = 2;

static std::string nameOf(int64_t step) {
  return format("step-%08lld", static_cast<long long>(step));
}

static uint64_t textChecksum(std::string_view text) {
  Checksum checksum;
  checksum.add(text.data(), static_cast<int64_t>(text.size()));
  return checksum.value();
}

static std::string hex(uint64_t value) {
  return format("%016llx", static_cast<unsigned long long>(value));
}

/// Names of committed checkpoints, oldest first.
std::vector<std::string> CheckpointFolder::committed() const {
  std::vector<std::pair<long long, std::string>> found;
  for (const std::string &name : listFolder(path)) {
    long long step;
    int end = 0;
    if (std::sscanf(name.c_str(), "step-%lld%n", &step, &end) == 1 &&
        static_cast<size_t>(end) == name.size() && isFolder(path + "/" + name))
      found.emplace_back(step, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto &entry : found)
    names.push_back(entry.second);
  return names;
}

Status CheckpointFolder::prepare(bool resume) const {
  HONERT_TRY(makeFolder(path));
  std::vector<std::string> names = committed();
  if (!resume && !names.empty())
    return Status::error(format("%s: holds %s of an earlier run; wanted "
                                "--resume or another folder",
                                path.c_str(), names.back().c_str()));
  HONERT_TRY(checkReplaceable(path + "/latest"));
  for (const std::string &name : listFolder(path))
    if (name.rfind(temporaryPrefix, 0) == 0)
      removeFolder(path + "/" + name);
  return Status();
}

Status CheckpointFolder::open(bool resume) {
  HONERT_TRY(world.agree(world.isFirst() ? prepare(resume) : Status()));
  return checkShared(world, path + "/latest");
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// The first line is the checksum of all that follows it.
static std::string manifestText(const Program &program,
                                const RunPosition &position, int64_t bytes,
                                uint64_t checksum) {
  std::string rest = format(
      "\"format\":%llu,\n\"fingerprint\":%s,\n\"step\":%lld,\n"
      "\"micro_step\":%lld,\n\"seed\":%llu,\n\"shuffle\":%d,\n"
      "\"data_tokens\":%lld,\n"
      "\"files\":[{\"name\":\"%s\",\"bytes\":%lld,\"checksum\":\"%s\"}]}\n",
      static_cast<unsigned long long>(manifestFormat),
      quoteJson(program.text("fingerprint")).c_str(),
      static_cast<long long>(position.step),
      static_cast<long long>(position.microStep),
      static_cast<unsigned long long>(position.seed), position.shuffle,
      static_cast<long long>(position.dataTokens), stateName,
      static_cast<long long>(bytes), hex(checksum).c_str());
  return "{\"checksum\":\"" + hex(textChecksum(rest)) + "\",\n" + rest;
}

static Status writeFile(const std::string &path, const std::string &text) {
  AtomicFile file;
  HONERT_TRY(file.create(path));
  HONERT_TRY(file.write(text.data(), static_cast<int64_t>(text.size())));
  return file.commit();
}

Status CheckpointFolder::makeTemporary(const RunPosition &position,
                                       std::string &folder) const {
  folder = format("%s/%s%lld-%d", path.c_str(), temporaryPrefix,
                  static_cast<long long>(position.step), getpid());
  removeFolder(folder);
  if (mkdir(folder.c_str(), 0777) != 0)
    return Status::error(folder + ": cannot be made: " + std::strerror(errno));
  return Status();
}

/// Completes the folder `temporary`, which holds the state, and gives it its
/// name.
Status CheckpointFolder::commit(const std::string &temporary,
                                const std::string &name,
                                const RunPosition &position,
                                uint64_t checksum) const {
  std::string target = path + "/" + name;
  std::string state = temporary + "/" + stateName;
  struct stat facts;
  if (stat(state.c_str(), &facts) != 0)
    return Status::error(state + ": " + std::strerror(errno));
  HONERT_TRY(
      writeFile(temporary + "/" + manifestName,
                manifestText(program, position, facts.st_size, checksum)));
  HONERT_TRY(syncFolder(temporary));
  // Where a (damaged) checkpoint of this step lies, the two change places.
  unsigned flags = isFolder(target) ? RENAME_EXCHANGE : 0;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), flags) !=
      0)
    return Status::error(target + ": cannot be made: " + std::strerror(errno));
  removeFolder(temporary);
  HONERT_TRY(syncFolder(path));
  HONERT_TRY(writeFile(path + "/latest", name + "\n"));
  return removeOld(name);
}

Status CheckpointFolder::save(const RunPosition &position, const Arena &arena) {
  std::string temporary;
  Status status;
  if (world.isFirst())
    status = makeTemporary(position, temporary);
  HONERT_TRY(world.agree(status));
  HONERT_TRY(broadcastText(world, temporary));
  std::string state = temporary + "/" + stateName;
  FileChecksum written;
  status = saveState(state, program, world, arena, &written);
  uint64_t checksum = written.value();
  if (status.ok() && world.size() > 1)
    status = checksumOf(state, world, checksum);
  if (status.ok() && world.isFirst())
    status = commit(temporary, nameOf(position.step), position, checksum);
  if (!status.ok() && world.isFirst())
    removeFolder(temporary);
  return world.agree(status);
}

Status CheckpointFolder::removeOld(const std::string &newest) const {
  std::vector<std::string> names = committed();
  // Those after it were damaged, else the run would have gone on from them.
  auto self = std::find(names.begin(), names.end(), newest);
  for (auto later = self; later != names.end(); ++later)
    if (later != self)
      removeFolder(path + "/" + *later);
  names.erase(self == names.end() ? self : self + 1, names.end());
  for (size_t i = 0; i + kept < names.size(); ++i)
    removeFolder(path + "/" + names[i]);
  return Status();
}

//===----------------------------------------------------------------------===//
// Restoring
//===----------------------------------------------------------------------===//

namespace {
struct Manifest {
  uint64_t format = 0, step = 0, microStep = 0, seed = 0, shuffle = 0;
  uint64_t dataTokens = 0, bytes = 0;
  std::string fingerprint, file, checksum;
};
} // namespace

static bool parseManifest(JsonReader &json, Manifest &manifest) {
  const std::map<std::string, uint64_t *> numbers = {
      {"format", &manifest.format},   {"step", &manifest.step},
      {"seed", &manifest.seed},       {"micro_step", &manifest.microStep},
      {"shuffle", &manifest.shuffle}, {"data_tokens", &manifest.dataTokens},
      {"bytes", &manifest.bytes}};
  const std::map<std::string, std::string *> strings = {
      {"fingerprint", &manifest.fingerprint}, {"name", &manifest.file}};
  auto value = [&](const std::string &key) {
    if (auto found = numbers.find(key); found != numbers.end())
      return json.readUnsigned(*found->second);
    if (auto found = strings.find(key); found != strings.end())
      return json.readString(*found->second);
    return false;
  };
  std::string ownChecksum;
  return json.readObject([&](const std::string &key) {
    if (key == "checksum")
      return json.readString(ownChecksum);
    if (key != "files")
      return value(key);
    return json.readArray([&] {
      return json.readObject([&](const std::string &field) {
        return field == "checksum" ? json.readString(manifest.checksum)
                                   : value(field);
      });
    });
  }) && json.readEnd();
}

/// Manifest of `folder` and size of its state are what was written; exit code 2
/// marks a good checkpoint of another program.
Status CheckpointFolder::readManifest(const std::string &folder,
                                      CommittedState &found) const {
  std::string name = folder + "/" + manifestName;
  MappedFile file;
  HONERT_TRY(file.open(name));
  std::string_view text = file.view();
  size_t lineEnd = text.find('\n');
  std::string_view rest = lineEnd == text.npos ? "" : text.substr(lineEnd + 1);
  if (text.substr(0, text.size() - rest.size()) !=
      "{\"checksum\":\"" + hex(textChecksum(rest)) + "\",\n")
    return Status::error(name + ": checksum does not match");
  JsonReader json(text);
  Manifest manifest;
  if (!parseManifest(json, manifest) || manifest.file != stateName)
    return Status::error(name + ": is no manifest (" + json.mistake() + ")");
  if (manifest.format != manifestFormat)
    return Status::usage(
        format("%s: format %llu, wanted %llu", name.c_str(),
               static_cast<unsigned long long>(manifest.format),
               static_cast<unsigned long long>(manifestFormat)));
  if (manifest.fingerprint != program.text("fingerprint"))
    return Status::usage(format(
        "%s: made by the program '%s', this one is '%s'", name.c_str(),
        manifest.fingerprint.c_str(), program.text("fingerprint").c_str()));
  MappedFile state;
  std::string stateFile = folder + "/" + stateName;
  HONERT_TRY(state.open(stateFile));
  if (static_cast<uint64_t>(state.size()) != manifest.bytes)
    return Status::error(
        format("%s: has %lld bytes, wanted %llu", stateFile.c_str(),
               static_cast<long long>(state.size()),
               static_cast<unsigned long long>(manifest.bytes)));
  if (std::sscanf(manifest.checksum.c_str(), "%" SCNx64, &found.checksum) != 1)
    return Status::error(name + ": is no manifest (checksum of the state)");
  RunPosition &position = found.position;
  position.step = static_cast<int64_t>(manifest.step);
  position.microStep = static_cast<int64_t>(manifest.microStep);
  position.seed = manifest.seed;
  position.shuffle = manifest.shuffle != 0;
  position.dataTokens = static_cast<int64_t>(manifest.dataTokens);
  return Status();
}

/// As readManifest() by the first rank; and all ranks together read the state.
/// Called by all.
Status CheckpointFolder::verify(const std::string &folder,
                                RunPosition &position) const {
  CommittedState found;
  Status own = world.isFirst() ? readManifest(folder, found) : Status();
  int code = own.exitCode();
  HONERT_TRY(world.broadcast(&code, sizeof code, /*root=*/0));
  HONERT_TRY(world.broadcast(&found, sizeof found, /*root=*/0));
  if (code != 0 && !world.isFirst())
    own = code == 2 ? Status::usage(folder + ": is of another program")
                    : Status::error(folder + ": is damaged");
  HONERT_TRY(own);
  std::string state = folder + "/" + stateName;
  uint64_t seen;
  HONERT_TRY(checksumOf(state, world, seen));
  if (seen != found.checksum)
    return Status::error(state + ": checksum does not match");
  position = found.position;
  return Status();
}

Status CheckpointFolder::restore(Arena &arena,
                                 std::optional<RunPosition> &position) {
  std::vector<std::string> names;
  if (world.isFirst())
    names = committed();
  for (bool isNewest = true;; isNewest = false) {
    std::string name = names.empty() ? "" : names.back();
    HONERT_TRY(broadcastText(world, name));
    if (name.empty() && isNewest)
      return Status();
    if (name.empty())
      return Status::error(path +
                           ": every checkpoint is damaged; wanted one good "
                           "checkpoint (or start without --resume)");
    std::string folder = path + "/" + name;
    RunPosition found;
    Status status = verify(folder, found);
    if (status.exitCode() == 2)
      return Status::error(status.message());
    if (status.ok()) {
      position = found;
      return world.agree(
          loadState(folder + "/" + stateName, program, world, arena));
    }
    if (!world.isFirst())
      continue;
    names.pop_back();
    std::fprintf(stderr,
                 "warning: %s; this checkpoint is skipped, the one before it "
                 "is tried\n",
                 status.message().c_str());
  }
}
