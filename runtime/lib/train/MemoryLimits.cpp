//===- MemoryLimits.cpp - How much memory a process may take --------------===//

#include "train/MemoryLimits.h"
#include "base/Types.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// Files of the system
//===----------------------------------------------------------------------===//

/// The number a file consists of; -1: there is none ("max"), or no file.
static int64_t readNumber(const std::string &path) {
  std::ifstream file(path);
  int64_t value = -1;
  return file >> value && value >= 0 ? value : -1;
}

/// The number after `key` in a file of lines "key number"; 0 if it has none.
static int64_t readKey(const std::string &path, const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    int64_t value;
    if (words >> word >> value && word == key && value >= 0)
      return value;
  }
  return 0;
}

static int64_t kibibytes(const std::string &path, const std::string &key) {
  return readKey(path, key) * 1024;
}

//===----------------------------------------------------------------------===//
// Control groups
//===----------------------------------------------------------------------===//

namespace {
/// What the two versions call the same things.
struct GroupFiles {
  const char *fileSystem;
  const char *most, *high, *now, *swapMost, *swapNow;
  const char *keys[2]; ///< of memory.stat: files that give way
};
constexpr GroupFiles versions[] = {
    {"cgroup",
     "memory.limit_in_bytes",
     "memory.soft_limit_in_bytes",
     "memory.usage_in_bytes",
     "memory.memsw.limit_in_bytes",
     "memory.memsw.usage_in_bytes",
     {"total_inactive_file", "total_active_file"}},
    {"cgroup2",
     "memory.max",
     "memory.high",
     "memory.current",
     "memory.swap.max",
     "memory.swap.current",
     {"inactive_file", "active_file"}}};

/// Where the group of this process is: a folder, and the topmost one that is
/// seen from here.
struct GroupPlace {
  std::string folder, top;
};
} // namespace

static bool hasWord(const std::string &list, const std::string &word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// The group as /proc/self/cgroup names it: "N:controllers:/path", with no
/// controllers in version 2.
static std::string groupPath(const std::string &root, bool isVersion2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t one = line.find(':'), two = line.find(':', one + 1);
    if (one == line.npos || two == line.npos)
      continue;
    std::string controllers = line.substr(one + 1, two - one - 1);
    if (isVersion2 ? controllers.empty() : hasWord(controllers, "memory"))
      return line.substr(two + 1);
  }
  return "";
}

/// Where groups are mounted. A container sees the mount's root ("/docker/x")
/// as the topmost folder.
static bool findGroup(const std::string &root, const GroupFiles &files,
                      GroupPlace &place) {
  bool isVersion2 = std::string(files.fileSystem) == "cgroup2";
  std::string path = groupPath(root, isVersion2);
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line) && !path.empty();) {
    size_t dash = line.find(" - ");
    if (dash == line.npos)
      continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string id, parent, device, mountRoot, folder, type, source, options;
    left >> id >> parent >> device >> mountRoot >> folder;
    right >> type >> source >> options;
    if (type != files.fileSystem ||
        (!isVersion2 && !hasWord(options, "memory")))
      continue;
    if (mountRoot != "/" && path.rfind(mountRoot, 0) == 0)
      path = path.substr(mountRoot.size());
    place.top = root + folder;
    place.folder = place.top + (path == "/" ? "" : path);
    return true;
  }
  return false;
}

/// What a group leaves of a limit of its own.
static MemoryLimit leftOf(const std::string &folder, const GroupFiles &files,
                          int64_t most, const char *name) {
  int64_t used = std::max<int64_t>(0, readNumber(folder + "/" + files.now));
  for (const char *key : files.keys)
    used -= readKey(folder + "/memory.stat", key);
  return {std::max<int64_t>(0, most - std::max<int64_t>(0, used)),
          format("%s/%s (%s) leaves", folder.c_str(), name,
                 formatBytes(most).c_str())};
}

/// What may go to swap beside `most`. Version 1 limits the sum of both.
static int64_t swapOf(const std::string &folder, const GroupFiles &files,
                      int64_t most, int64_t freeSwap) {
  bool isVersion2 = std::string(files.fileSystem) == "cgroup2";
  int64_t limit = readNumber(folder + "/" + files.swapMost);
  if (limit < 0)
    return isVersion2 ? freeSwap : 0; // "max"; not counted
  int64_t now = isVersion2 ? readNumber(folder + "/" + files.swapNow) : most;
  return std::clamp<int64_t>(limit - std::max<int64_t>(0, now), 0, freeSwap);
}

static void addGroups(const std::string &root, MemoryLimits &limits) {
  int64_t freeSwap = kibibytes(root + "/proc/meminfo", "SwapFree:");
  // Version 1 says "no limit" as a number close to 2^63.
  constexpr int64_t unlimited = int64_t{1} << 60;
  for (const GroupFiles &files : versions) {
    GroupPlace place;
    if (!findGroup(root, files, place))
      continue;
    for (std::string folder = place.folder;;) {
      int64_t most = readNumber(folder + "/" + files.most);
      if (most >= 0 && most < unlimited) {
        MemoryLimit limit = leftOf(folder, files, most, files.most);
        limit.left += swapOf(folder, files, most, freeSwap);
        limits.killing.push_back(std::move(limit));
      }
      int64_t high = readNumber(folder + "/" + files.high);
      if (high >= 0 && high < unlimited)
        limits.slowing.push_back(leftOf(folder, files, high, files.high));
      if (folder.size() <= place.top.size())
        break;
      folder = folder.substr(0, folder.find_last_of('/'));
    }
  }
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

static void addResource(int resource, const char *origin, int64_t used,
                        std::vector<MemoryLimit> &limits) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur > static_cast<rlim_t>(INT64_MAX))
    return;
  int64_t left = static_cast<int64_t>(limit.rlim_cur) - used;
  limits.push_back({std::max<int64_t>(0, left), origin});
}

MemoryLimits honert::findMemoryLimits(const std::string &root) {
  MemoryLimits limits;
  std::string machine = root + "/proc/meminfo", self = root + "/proc/self/";
  if (int64_t total = kibibytes(machine, "MemTotal:"))
    limits.killing.push_back({total, "this machine has"});
  if (int64_t available = kibibytes(machine, "MemAvailable:"))
    limits.slowing.push_back({available, "this machine has free"});
  addGroups(root, limits);
  addResource(RLIMIT_AS, "ulimit -v leaves",
              kibibytes(self + "status", "VmSize:"), limits.addresses);
  addResource(RLIMIT_DATA, "ulimit -d leaves",
              kibibytes(self + "status", "VmData:"), limits.data);
  return limits;
}

static const MemoryLimit *smallest(const std::vector<MemoryLimit> &limits) {
  auto least = std::min_element(
      limits.begin(), limits.end(),
      [](auto &one, auto &other) { return one.left < other.left; });
  return least == limits.end() ? nullptr : &*least;
}

/// "needs 2.84 GiB of memory; this machine has 1.00 GiB"
static std::string compare(int64_t bytes, const char *what, int64_t processes,
                           const MemoryLimit &limit) {
  std::string each = processes > 1
                         ? format(" for each of %lld processes on this machine",
                                  static_cast<long long>(processes))
                         : "";
  return format("this program needs %s of %s%s; %s %s",
                formatBytes(bytes).c_str(), what, each.c_str(),
                limit.origin.c_str(), formatBytes(limit.left).c_str());
}

/// `bytes` are the addresses that a process takes.
static Status checkAddresses(const std::vector<MemoryLimit> &limits,
                             int64_t bytes, const char *what) {
  const MemoryLimit *limit = smallest(limits);
  if (!limit || bytes <= limit->left)
    return Status();
  return Status::error(compare(bytes, what, 1, *limit) +
                       "; raise the limit, or use fewer --threads");
}

static int64_t sumOf(int64_t one, int64_t other) {
  int64_t sum;
  return __builtin_add_overflow(one, other, &sum) ? INT64_MAX : sum;
}

Status honert::checkMemory(const MemoryLimits &limits, const MemoryNeed &need,
                           std::string &warning) {
  int64_t together;
  if (__builtin_mul_overflow(need.touched, need.processes, &together))
    together = INT64_MAX;
  if (const MemoryLimit *limit = smallest(limits.killing);
      limit && together > limit->left)
    return Status::error(
        compare(need.touched, "memory", need.processes, *limit) +
        "; raise the limit, or compile with a smaller --memory-budget, batch "
        "or model");
  int64_t written = sumOf(need.touched, need.beside);
  HONERT_TRY(checkAddresses(limits.addresses, sumOf(written, need.files),
                            "addresses, with libraries, stacks and files"));
  HONERT_TRY(checkAddresses(limits.data, written,
                            "addresses, with libraries and stacks"));
  if (const MemoryLimit *limit = smallest(limits.slowing);
      limit && together > limit->left)
    warning = compare(need.touched, "memory", need.processes, *limit) +
              ": it may be slow, or be killed";
  return Status();
}
