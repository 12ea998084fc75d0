//===- ThreadLimits.cpp - Whether the system starts enough threads --------===//

#include "train/ThreadLimits.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <unistd.h>
#include <vector>

using namespace honert;

int64_t honert::stackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_attr_init(&attributes) != 0)
    return 0;
  (void)pthread_attr_getstacksize(&attributes, &bytes);
  (void)pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(bytes);
}

Status honert::checkThreads(int threads, int helpers) {
  std::mutex held; // all live at the same time
  std::unique_lock<std::mutex> lock(held);
  auto wait = [](void *mutex) -> void * {
    std::lock_guard<std::mutex> waiting(*static_cast<std::mutex *>(mutex));
    return nullptr;
  };
  std::vector<pthread_t> started;
  int code = 0, count = threads - 1 + helpers;
  for (int i = 0; i < count && code == 0; ++i) {
    pthread_t thread;
    code = pthread_create(&thread, nullptr, wait, &held);
    if (code == 0)
      started.push_back(thread);
  }
  lock.unlock();
  for (pthread_t thread : started)
    (void)pthread_join(thread, nullptr);
  if (code == 0)
    return Status();
  int possible = static_cast<int>(started.size()) + 1 - helpers;
  return Status::error(format(
      "--threads: %d threads and %d helpers cannot be started: %s; %s", threads,
      helpers, std::strerror(code),
      possible > 0 ? format("--threads=%d can", possible).c_str()
                   : "the limits of this process (ulimit -u, ulimit -v, its "
                     "control group) leave no room"));
}

/// Of the last minute, if the system tells.
static std::optional<double> loadNow() {
  double load;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

static int64_t coresOfMachine() { return sysconf(_SC_NPROCESSORS_ONLN); }

bool honert::isBusy(double load, int64_t cores, int64_t threads) {
  // Threads beyond the cores are this run's own doing; others come and go.
  return load >= static_cast<double>(std::max(cores, threads)) + 1;
}

static std::string loadText(double load, int64_t cores) {
  return format("load: %.1f on %lld core%s: other programs slow this run", load,
                static_cast<long long>(cores), cores == 1 ? "" : "s");
}

std::string honert::loadNote(double load, int64_t cores, int64_t threads) {
  if (!isBusy(load, cores, threads))
    return "";
  std::string text = loadText(load, cores);
  if (threads > 1) // one thread cannot give way
    text += format("; try fewer --threads than %lld",
                   static_cast<long long>(threads));
  return text;
}

std::string honert::loadNote(int64_t threads) {
  std::optional<double> load = loadNow();
  return load ? loadNote(*load, coresOfMachine(), threads) : "";
}

std::string honert::oneThreadNote(double load, int64_t cores, int64_t threads) {
  return threads > 1 && isBusy(load, cores, threads)
             ? loadText(load, cores) + "; uses 1 thread; --threads N chooses"
             : "";
}

std::string honert::oneThreadNote(int64_t threads) {
  std::optional<double> load = loadNow();
  return load ? oneThreadNote(*load, coresOfMachine(), threads) : "";
}
