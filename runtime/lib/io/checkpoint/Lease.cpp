//===- Lease.cpp - One run at a time writes a folder ----------------------===//

#include "io/checkpoint/Lease.h"
#include "base/FileLock.h"
#include "base/Files.h"
#include "base/Json.h"
#include "base/Printable.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <map>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// Who holds it
//===----------------------------------------------------------------------===//

/// The beginning of a small file, without its last line end. False: it cannot
/// be read; errno says why.
static bool readSmall(const char *path, std::string &text) {
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return false;
  char bytes[2048];
  ssize_t length = read(file, bytes, sizeof bytes);
  int error = errno;
  close(file);
  errno = error;
  bool isRead = length >= 0;
  while (length > 0 && bytes[length - 1] == '\n')
    --length;
  text.assign(bytes, length > 0 ? static_cast<size_t>(length) : 0);
  return isRead;
}

/// When process `pid` of this namespace was started; 0: there is none.
static uint64_t startOf(uint64_t pid) {
  std::string path =
      format("/proc/%llu/stat", static_cast<unsigned long long>(pid));
  std::string text;
  readSmall(path.c_str(), text);
  // The name of the program, field 2, may hold anything; field 22 is ours.
  size_t at = text.rfind(')');
  for (int field = 2; at != text.npos && field < 22; ++field)
    at = text.find(' ', at + 1);
  unsigned long long ticks = 0;
  if (at == text.npos || std::sscanf(text.c_str() + at, "%llu", &ticks) != 1)
    return 0;
  return ticks;
}

LeaseHolder LeaseHolder::ofThisProcess() {
  LeaseHolder self;
  self.run = randomName();
  char text[256] = "";
  self.host = gethostname(text, sizeof text - 1) == 0 ? text : "?";
  readSmall("/proc/sys/kernel/random/boot_id", self.boot);
  ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text - 1);
  self.processes.assign(text, length > 0 ? static_cast<size_t>(length) : 0);
  self.pid = static_cast<uint64_t>(getpid());
  self.started = startOf(self.pid);
  std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  self.since = text;
  return self;
}

static std::string textOf(const LeaseHolder &holder) {
  return format("{\"run\":%s,\"host\":%s,\"boot\":%s,\"processes\":%s,"
                "\"pid\":%llu,\"started\":%llu,\"since\":%s}\n",
                quoteJson(holder.run).c_str(), quoteJson(holder.host).c_str(),
                quoteJson(holder.boot).c_str(),
                quoteJson(holder.processes).c_str(),
                static_cast<unsigned long long>(holder.pid),
                static_cast<unsigned long long>(holder.started),
                quoteJson(holder.since).c_str());
}

/// False: the text is none of ours, or half of one.
static bool parse(const std::string &text, LeaseHolder &holder) {
  const std::map<std::string, std::string *> strings = {
      {"run", &holder.run},
      {"host", &holder.host},
      {"boot", &holder.boot},
      {"processes", &holder.processes},
      {"since", &holder.since}};
  JsonReader json(text);
  return json.readObject([&](const std::string &key) {
    if (key == "pid")
      return json.readUnsigned(holder.pid);
    if (key == "started")
      return json.readUnsigned(holder.started);
    auto found = strings.find(key);
    return found != strings.end() && json.readString(*found->second);
  }) && json.readEnd() &&
         !holder.run.empty();
}

static std::string nameOf(const LeaseHolder &holder, const LeaseHolder &self) {
  if (holder.run.empty())
    return "another run";
  bool isElsewhere =
      holder.boot == self.boot && holder.processes != self.processes;
  return format("the run of host %s, pid %llu%s, since %s", holder.host.c_str(),
                static_cast<unsigned long long>(holder.pid),
                isElsewhere ? " of another container" : "",
                holder.since.c_str());
}

Status Lease::refusal(const LeaseHolder &other) const {
  return Status::error(format(
      "%s: in use by %s; expected one run at a time: end that one first, or "
      "give another --checkpoint-dir",
      folder.c_str(), nameOf(other, self).c_str()));
}

Status Lease::lostTo(const LeaseHolder &other) const {
  return Status::error(
      format("%s: taken over by %s; this run ends, to write nothing over "
             "checkpoints of that one",
             folder.c_str(), nameOf(other, self).c_str()));
}

//===----------------------------------------------------------------------===//
// Taking it
//===----------------------------------------------------------------------===//

using Milliseconds = std::chrono::milliseconds;

/// When the file was renewed last, by the clock of its file system; 0: never.
static int64_t renewalTime(const std::string &path) {
  // Opened anew: only then does a network file system ask its server.
  int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat facts = {};
  bool isThere = file >= 0 && fstat(file, &facts) == 0;
  if (file >= 0)
    close(file);
  return isThere ? facts.st_mtim.tv_sec * 1000 + facts.st_mtim.tv_nsec / 1000000
                 : 0;
}

/// Whether `other` has been silent for so long that no difference between
/// clocks explains it.
static bool isLongGone(int64_t renewed) {
  constexpr int64_t hour = 3600 * 1000;
  return int64_t{std::time(nullptr)} * 1000 - renewed > hour;
}

/// Success: `other` writes no more.
Status Lease::waitForOther(const LeaseHolder &other) const {
  bool isHere = !other.boot.empty() && other.boot == self.boot;
  if (isHere && isLocked)
    return Status(); // its lock has gone with it
  if (isHere && other.processes == self.processes)
    return startOf(other.pid) == other.started && other.started != 0
               ? refusal(other)
               : Status();
  int64_t renewed = renewalTime(path);
  if (renewed == 0)
    return systemError(path, "cannot be read");
  if (isLongGone(renewed))
    return Status();
  // The first rank alone watches; the others must not give up meanwhile.
  double least = static_cast<double>(timing.expiry.count()) / 1000 + 5;
  if (timing.patience > 0 && timing.patience < least)
    return Status::error(
        format("%s: was in use by %s; to see whether it still is takes %lld s, "
               "expected --comm-timeout of at least %g, got %g",
               folder.c_str(), nameOf(other, self).c_str(),
               static_cast<long long>(timing.expiry.count() / 1000), least,
               timing.patience));
  std::fprintf(
      stderr, "warning: %s\n",
      printable(format("%s: was in use by %s; waiting %lld s to see "
                       "whether it still is",
                       folder.c_str(), nameOf(other, self).c_str(),
                       static_cast<long long>(timing.expiry.count() / 1000)))
          .c_str());
  auto end = std::chrono::steady_clock::now() + timing.expiry;
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(
        std::min<Milliseconds>(timing.expiry / 10, Milliseconds(1000)));
    if (renewalTime(path) != renewed)
      return refusal(other);
  }
  return Status();
}

Status Lease::write() const {
  std::string text = textOf(self);
  auto size = static_cast<ssize_t>(text.size());
  if (pwrite(descriptor, text.data(), text.size(), 0) != size ||
      ftruncate(descriptor, size) != 0 || fsync(descriptor) != 0)
    return systemError(path, "cannot be written");
  return Status();
}

/// `again`: the file went away meanwhile.
Status Lease::tryAcquire(bool &again) {
  int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  descriptor = open(path.c_str(), flags, 0666);
  if (descriptor < 0 && errno == ELOOP)
    return Status::error(path + ": is a link, expected a regular file or none");
  struct stat facts, named;
  if (descriptor < 0 || fstat(descriptor, &facts) != 0)
    return systemError(path, "cannot be written");
  if (!S_ISREG(facts.st_mode) || facts.st_nlink > 1)
    return Status::error(path + ": is no regular file with one name, expected "
                                "that or none");
  FileLock lock =
      timing.usesLocks ? lockFile(descriptor) : FileLock::unsupported;
  LeaseHolder other;
  std::string text;
  // Whoever holds a file that cannot be read, it is not free.
  if (!readSmall(path.c_str(), text) && errno != ENOENT)
    return systemError(path, "cannot be read");
  bool isKnown = parse(text, other);
  if (lock == FileLock::heldByOther)
    return refusal(isKnown ? other : LeaseHolder());
  isLocked = lock == FileLock::held;
  again = lstat(path.c_str(), &named) != 0 || named.st_ino != facts.st_ino ||
          named.st_dev != facts.st_dev;
  if (again)
    return Status();
  if (isKnown && other.run != self.run)
    HONERT_TRY(waitForOther(other));
  HONERT_TRY(write());
  if (isLocked)
    return Status();
  // Two that found it free have both written; the later one keeps it.
  std::this_thread::sleep_for(
      std::min<Milliseconds>(timing.renewal / 10, Milliseconds(500)));
  State now = state(other);
  if (now == State::unknown)
    return systemError(path, "cannot be read");
  return now == State::held ? Status() : refusal(other);
}

Status Lease::acquire() {
  stopRenewing();
  for (int tries = 0; tries < 100; ++tries) {
    bool again = false;
    Status status = tryAcquire(again);
    if (status.ok() && !again) {
      stops = false;
      renewer = std::thread([this] { renew(); });
      return Status();
    }
    if (descriptor >= 0)
      close(descriptor);
    descriptor = -1;
    HONERT_TRY(status);
  }
  return refusal(LeaseHolder());
}

//===----------------------------------------------------------------------===//
// Keeping it
//===----------------------------------------------------------------------===//

/// The thread that shows others that this process lives. It allocates nothing.
void Lease::renew() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, timing.renewal, [&] { return stops; }))
    (void)futimens(descriptor, nullptr);
}

void Lease::stopRenewing() {
  if (!renewer.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stops = true;
  }
  changed.notify_all();
  renewer.join();
  close(descriptor);
  descriptor = -1;
}

Lease::State Lease::state(LeaseHolder &other) const {
  std::string text;
  if (!readSmall(path.c_str(), text))
    return errno == ENOENT ? State::missing : State::unknown;
  if (text.empty()) // one that was made on a full disk
    return State::missing;
  LeaseHolder found;
  bool isKnown = parse(text, found);
  if (isKnown && found.run == self.run)
    return State::held;
  other = isKnown ? found : LeaseHolder();
  return State::lost;
}

void Lease::release() {
  if (!renewer.joinable())
    return;
  LeaseHolder other;
  // While the lock is held: who waits for it sees that the file is gone.
  if (state(other) == State::held)
    unlink(path.c_str());
  stopRenewing();
}
