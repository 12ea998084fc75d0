//===- Folder.cpp - Runs that survive their process -----------------------===//

#include "io/checkpoint/Folder.h"
#include "base/FileLock.h"
#include "base/Json.h"
#include "base/Printable.h"
#include "io/SharedFiles.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

constexpr const char *manifestName = "manifest.json";
constexpr const char *temporaryFolders = ".tmp-step-";
constexpr const char *bestLink = "best";
constexpr const char *bestLossName = "val_loss";
constexpr size_t kept = 2;

static std::string nameOf(int64_t step) {
  return format("step-%08lld", static_cast<long long>(step));
}

std::string CheckpointFolder::pathOf(int64_t step) const {
  return path + "/" + nameOf(step);
}

/// The number in "step-N"; -1: another name.
static int64_t stepOf(const std::string &name) {
  constexpr size_t prefix = 5, mostDigits = 18;
  if (name.compare(0, prefix, "step-") != 0 || name.size() == prefix ||
      name.size() > prefix + mostDigits ||
      name.find_first_not_of("0123456789", prefix) != name.npos)
    return -1;
  return std::stoll(name.substr(prefix));
}

/// Steps and names of committed checkpoints, oldest first. A link that leads
/// nowhere is one: its disk may not be mounted. An error: there may be more.
Status CheckpointFolder::findCommitted(Committed &found) const {
  found.clear();
  std::vector<std::string> names;
  HONERT_TRY(listFolder(path, names));
  for (const std::string &name : names) {
    int64_t step = stepOf(name);
    if (step < 0)
      continue;
    std::string entry = path + "/" + name;
    struct stat facts;
    bool isThere = stat(entry.c_str(), &facts) == 0;
    if (!isThere && errno != ENOENT)
      return systemError(entry, "cannot be read");
    if (isThere ? S_ISDIR(facts.st_mode) : isLink(entry))
      found.emplace_back(step, name);
  }
  std::sort(found.begin(), found.end());
  return Status();
}

Status CheckpointFolder::prepare(bool resume) {
  HONERT_TRY(makeFolder(path));
  HONERT_TRY(checkReplaceable(path + "/latest"));
  LeaseTiming timing;
  timing.patience = world.size() > 1 ? world.timeout() : 0;
  lease = std::make_unique<Lease>(path, timing);
  HONERT_TRY(lease->acquire());
  Committed names;
  HONERT_TRY(findCommitted(names));
  if (!resume && !names.empty())
    return Status::error(format("%s: holds %s of an earlier run; expected "
                                "--resume or another folder",
                                path.c_str(), names.back().second.c_str()));
  // Nobody else writes here now, so that these are leftovers.
  std::string latest = temporaryPrefix(path + "/latest");
  std::string flags = temporaryPrefix(path + "/" + RunFlags::fileName);
  std::vector<std::string> entries;
  HONERT_TRY(listFolder(path, entries));
  for (const std::string &name : entries) {
    std::string entry = path + "/" + name;
    if (name.rfind(temporaryFolders, 0) == 0)
      removeFolder(entry);
    else if ((name.rfind(latest, 0) == 0 || name.rfind(flags, 0) == 0) &&
             !isFolder(entry))
      unlink(entry.c_str());
  }
  return Status();
}

Status CheckpointFolder::open(bool resume) {
  HONERT_TRY(world.agree(world.isFirst() ? prepare(resume) : Status()));
  return checkShared(world, path + "/latest");
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// The folder is still this run's. One that was suspended for long, on a file
/// system without locks, finds out here that another run went on.
Status CheckpointFolder::checkLease() {
  LeaseHolder other;
  Lease::State state = lease ? lease->state(other) : Lease::State::held;
  if (state == Lease::State::unknown) // it may be known at the next save
    return systemError(path + "/.lock", "cannot be read");
  if (state == Lease::State::missing) {
    // Somebody removed the file: by hand, or another run at its end.
    Committed names;
    HONERT_TRY(findCommitted(names));
    bool isNewer = !names.empty() && names.back().first > ownNewest &&
                   !damaged.count(names.back().second);
    // Where it cannot be made now, it may be at the next save.
    if (!isNewer)
      return lease->acquire();
    state = Lease::State::lost;
  }
  lost = state == Lease::State::lost;
  return lost ? lease->lostTo(other) : Status();
}

static Status writeFile(const std::string &path, const std::string &text) {
  AtomicFile file;
  HONERT_TRY(file.create(path));
  HONERT_TRY(file.write(text.data(), static_cast<int64_t>(text.size())));
  return file.commit();
}

Status CheckpointFolder::makeTemporary(const RunPosition &position,
                                       std::string &folder) const {
  folder = format("%s/%s%lld-%s", path.c_str(), temporaryFolders,
                  static_cast<long long>(position.step), randomName().c_str());
  if (mkdir(folder.c_str(), 0777) != 0)
    return Status::error(folder + ": cannot be made: " + std::strerror(errno));
  return Status();
}

/// Renames the complete folder `temporary`. A damaged checkpoint of this step
/// goes away first: the one that this run went on from stays all the time.
/// (RENAME_EXCHANGE would do both at once, but NFS and others refuse it.)
Status CheckpointFolder::giveName(const std::string &temporary, int64_t step) {
  std::string name = nameOf(step), target = path + "/" + name, aside;
  if (damaged.count(name)) {
    aside = format("%s/%s%lld-%s", path.c_str(), temporaryFolders,
                   static_cast<long long>(step), randomName().c_str());
    if (rename(target.c_str(), aside.c_str()) != 0 && errno != ENOENT)
      return Status::error(target +
                           ": cannot be replaced: " + std::strerror(errno));
    damaged.erase(name);
  }
  // Fails where a checkpoint lies, which then is of another run.
  if (rename(temporary.c_str(), target.c_str()) != 0)
    return systemError(target, "cannot be made");
  ownNewest = step; // others see it, whatever fails from here on
  HONERT_TRY(syncFolder(path));
  if (!aside.empty() && isLink(aside))
    unlink(aside.c_str());
  else if (!aside.empty())
    removeFolder(aside);
  return Status();
}

/// Completes the folder `temporary`, which holds the state, and gives it its
/// name.
Status CheckpointFolder::commit(const std::string &temporary,
                                const RunPosition &position,
                                uint64_t checksum) {
  std::string state = temporary + "/" + stateName;
  struct stat facts;
  if (stat(state.c_str(), &facts) != 0)
    return Status::error(state + ": " + std::strerror(errno));
  Manifest written = Manifest::of(program);
  written.position = position;
  written.facts = own;
  written.stateBytes = facts.st_size;
  written.stateChecksum = checksum;
  HONERT_TRY(writeFile(temporary + "/" + manifestName, textOf(written)));
  HONERT_TRY(syncFolder(temporary));
  // Writing may have taken long: what follows changes what others see.
  HONERT_TRY(checkLease());
  HONERT_TRY(giveName(temporary, position.step));
  return finishSave();
}

/// What is left once the newest checkpoint is there to stay.
Status CheckpointFolder::finishSave() {
  Status status = writeFile(path + "/latest", nameOf(ownNewest) + "\n");
  removeDamaged();
  removeOld(ownNewest);
  return status;
}

/// Whether this run's newest checkpoint is of `step`: an earlier save got so
/// far before it failed.
bool CheckpointFolder::isSaved(int64_t step) const {
  return step == ownNewest && isFolder(path + "/" + nameOf(step));
}

Status CheckpointFolder::save(const RunPosition &position, const Arena &arena) {
  std::string temporary;
  Status status;
  if (world.isFirst())
    status = checkLease();
  // Before the checkpoint: a run that is killed between can be started by them.
  if (status.ok() && world.isFirst() && flags) {
    status = flags->write(path);
    if (status.ok())
      flags.reset();
  }
  if (status.ok() && world.isFirst() && !isSaved(position.step))
    status = makeTemporary(position, temporary);
  HONERT_TRY(world.broadcast(&lost, sizeof lost, /*root=*/0));
  HONERT_TRY(world.agree(status));
  HONERT_TRY(broadcastText(world, temporary));
  if (temporary.empty()) { // nothing to write
    if (world.isFirst())
      status = syncFolder(path);
    if (status.ok() && world.isFirst())
      status = finishSave();
    return world.agree(status);
  }
  std::string state = temporary + "/" + stateName;
  FileChecksum written;
  status = saveState(state, program, world, arena, &written);
  uint64_t checksum = written.value();
  if (status.ok() && world.size() > 1)
    status = checksumOf(state, world, checksum);
  if (status.ok() && world.isFirst())
    status = commit(temporary, position, checksum);
  if (!status.ok() && world.isFirst())
    removeFolder(temporary);
  HONERT_TRY(world.broadcast(&lost, sizeof lost, /*root=*/0));
  return world.agree(status);
}

//===----------------------------------------------------------------------===//
// The best one
//===----------------------------------------------------------------------===//

/// The checkpoint that `best` leads to; empty if there is none.
std::string CheckpointFolder::bestName() const {
  char target[64];
  ssize_t length =
      readlink((path + "/" + bestLink).c_str(), target, sizeof target);
  std::string name(target, static_cast<size_t>(std::max<ssize_t>(0, length)));
  return stepOf(name) < 0 ? "" : name;
}

/// The link is replaced at once: it leads to one or the other.
Status CheckpointFolder::replaceBest(int64_t step, double loss) {
  HONERT_TRY(
      writeFile(pathOf(step) + "/" + bestLossName, jsonNumber(loss) + "\n"));
  std::string link = path + "/" + bestLink, made = path + "/.tmp-best";
  unlink(made.c_str());
  if (symlink(nameOf(step).c_str(), made.c_str()) != 0 ||
      rename(made.c_str(), link.c_str()) != 0)
    return systemError(link, "cannot be made");
  HONERT_TRY(syncFolder(path));
  removeOld(ownNewest); // that which was the best
  return Status();
}

Status CheckpointFolder::markBest(int64_t step, double loss) {
  return world.agree(world.isFirst() ? replaceBest(step, loss) : Status());
}

Status CheckpointFolder::readBest(std::optional<double> &loss) const {
  double found = std::nan("");
  std::string name = world.isFirst() ? bestName() : "";
  if (int64_t step = stepOf(name); step >= 0 && step <= ownNewest) {
    std::ifstream file(path + "/" + name + "/" + bestLossName);
    if (double read; file >> read)
      found = read;
  }
  HONERT_TRY(world.broadcast(&found, sizeof found, /*root=*/0));
  if (!std::isnan(found))
    loss = found;
  return Status();
}

/// Removes all but the best and the `kept` newest checkpoints up to step
/// `newest`. Later ones are damaged or of another run. A link is its maker's:
/// it stays, and what it leads to.
void CheckpointFolder::removeOld(int64_t newest) const {
  Committed names;
  if (!findCommitted(names).ok())
    return; // the next save does it
  auto isLater = [&](const auto &entry) { return entry.first > newest; };
  names.erase(std::remove_if(names.begin(), names.end(), isLater), names.end());
  for (size_t i = 0; i + kept < names.size(); ++i)
    if (std::string folder = path + "/" + names[i].second;
        !isLink(folder) && names[i].second != bestName())
      removeFolder(folder);
}

/// What restore() skipped, once a new checkpoint is there.
void CheckpointFolder::removeDamaged() {
  for (const std::string &name : damaged)
    if (std::string folder = path + "/" + name; !isLink(folder))
      removeFolder(folder);
  damaged.clear();
}

//===----------------------------------------------------------------------===//
// Restoring
//===----------------------------------------------------------------------===//

/// Opens a file of a checkpoint. One that is not there, or no file, is damage.
/// Of any other the checkpoint may be good: exit code 2.
static Status openOfCheckpoint(const std::string &name, ReadFile &file) {
  Status status = file.open(name);
  struct stat facts;
  bool isThere = stat(name.c_str(), &facts) == 0;
  bool isDamage = isThere ? !S_ISREG(facts.st_mode) : errno == ENOENT;
  return status.ok() || isDamage ? status : Status::usage(status.message());
}

/// Manifest of `folder` and size of its state are what was written for `step`.
/// Exit code 2 marks a checkpoint that is good and does not fit this run, or
/// may be good and cannot be read now; other errors mean damage.
Status CheckpointFolder::readManifest(const std::string &folder, int64_t step,
                                      std::string &text) const {
  constexpr int64_t mostBytes = 1 << 20;
  if (isLink(folder) && !isFolder(folder))
    return Status::usage(folder +
                         ": is a link that leads nowhere, expected its disk to "
                         "be there, or no link (to go on from the checkpoint "
                         "before it)");
  std::string name = folder + "/" + manifestName;
  ReadFile file;
  HONERT_TRY(openOfCheckpoint(name, file));
  if (file.size() > mostBytes)
    return Status::error(format("%s: has %lld bytes, expected at most %lld",
                                name.c_str(),
                                static_cast<long long>(file.size()),
                                static_cast<long long>(mostBytes)));
  text.resize(static_cast<size_t>(file.size()));
  if (Status read = file.readAt(0, text.data(), file.size()); !read.ok())
    return Status::usage(read.message());
  Manifest found;
  HONERT_TRY(parseManifest(name, text, found));
  if (found.position.step != step)
    return Status::error(format("%s: is of step %lld, expected %lld",
                                name.c_str(),
                                static_cast<long long>(found.position.step),
                                static_cast<long long>(step)));
  HONERT_TRY(checkProgram(folder, found, program));
  if (found.format >= 3 && !acceptsOther)
    HONERT_TRY(checkFiles(folder, found, own.files));
  if (found.format < 3)
    std::fprintf(stderr,
                 "warning: %s: of an earlier version, which noted of data the "
                 "number of tokens alone; contents, precision and optimizer "
                 "are not compared\n",
                 printable(folder).c_str());
  ReadFile state;
  std::string stateFile = folder + "/" + stateName;
  HONERT_TRY(openOfCheckpoint(stateFile, state));
  if (state.size() != found.stateBytes)
    return Status::error(format("%s: has %lld bytes, expected %lld",
                                stateFile.c_str(),
                                static_cast<long long>(state.size()),
                                static_cast<long long>(found.stateBytes)));
  return Status();
}

/// As readManifest() by the first rank; and all ranks together read the state.
/// Called by all.
Status CheckpointFolder::verify(const std::string &folder, int64_t step) {
  std::string text;
  Status status = world.isFirst() ? readManifest(folder, step, text) : Status();
  int code = status.exitCode();
  HONERT_TRY(world.broadcast(&code, sizeof code, /*root=*/0));
  HONERT_TRY(broadcastText(world, text));
  if (code != 0 && !world.isFirst())
    status = code == 2 ? Status::usage(folder + ": cannot be taken")
                       : Status::error(folder + ": is damaged");
  HONERT_TRY(status);
  HONERT_TRY(parseManifest(folder, text, manifest));
  std::string state = folder + "/" + stateName;
  uint64_t seen;
  // The first rank has seen its size: what fails now is no damage.
  if (Status read = checksumOf(state, world, seen); !read.ok())
    return Status::usage(read.message());
  if (seen != manifest.stateChecksum)
    return Status::error(state + ": checksum does not match");
  return Status();
}

Status CheckpointFolder::checkTokens(int64_t tokens) const {
  int64_t before = manifest.position.dataTokens;
  if (ownNewest < 0 || acceptsOther || tokens == before)
    return Status();
  return Status::error(
      format("%s: the run read %lld tokens of --data, got %lld; expected as "
             "many, or --new-data to go on with this file",
             path.c_str(), static_cast<long long>(before),
             static_cast<long long>(tokens)));
}

void CheckpointFolder::skipDamaged(const Status &status, Committed &names) {
  damaged.insert(names.back().second);
  names.pop_back();
  std::fprintf(stderr,
               "warning: %s; this checkpoint is skipped, the one before it "
               "is tried\n",
               printable(status.message()).c_str());
}

static Status noGoodCheckpoint(const std::string &path) {
  return Status::error(path +
                       ": every checkpoint is damaged; expected one good "
                       "checkpoint (or start without --resume)");
}

Status CheckpointFolder::check(std::optional<RunPosition> &position) const {
  Committed names;
  HONERT_TRY(findCommitted(names));
  if (names.empty())
    return Status();
  for (; !names.empty(); names.pop_back()) {
    auto [step, name] = names.back();
    std::string folder = path + "/" + name, text;
    Status status = readManifest(folder, step, text);
    if (status.exitCode() == 2)
      return Status::error(status.message());
    if (!status.ok()) // restore() takes the one before
      continue;
    Manifest found;
    HONERT_TRY(parseManifest(folder, text, found));
    position = found.position;
    return checkState(folder + "/" + stateName, program);
  }
  return noGoodCheckpoint(path);
}

Status CheckpointFolder::restore(Arena &arena,
                                 std::optional<RunPosition> &position) {
  Committed names;
  HONERT_TRY(world.agree(world.isFirst() ? findCommitted(names) : Status()));
  for (bool isNewest = true;; isNewest = false) {
    std::string name = names.empty() ? "" : names.back().second;
    HONERT_TRY(broadcastText(world, name));
    if (name.empty() && isNewest)
      return Status();
    if (name.empty())
      return noGoodCheckpoint(path);
    std::string folder = path + "/" + name;
    Status status = verify(folder, stepOf(name));
    if (status.exitCode() == 2)
      return Status::error(status.message());
    if (status.ok()) {
      position = manifest.position;
      ownNewest = position->step;
      HONERT_TRY(world.agree(
          loadState(folder + "/" + stateName, program, world, arena)));
      // A run that was killed may have left one more than it should.
      if (world.isFirst() && damaged.empty())
        removeOld(ownNewest);
      return Status();
    }
    if (world.isFirst())
      skipDamaged(status, names);
  }
}
