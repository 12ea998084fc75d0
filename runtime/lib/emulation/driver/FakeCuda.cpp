//===- FakeCuda.cpp - What the fake knows, and who finds it ---------------===//

#include "emulation/driver/FakeCuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

using namespace honert;
using namespace honert::fake;

static thread_local State *played = nullptr;

/// HONE_FAKE_FAULT="epilogue".
static Fault startFault() {
  static const std::pair<const char *, Fault> faults[] = {
      {"epilogue", Fault::epilogue},
      {"stride", Fault::stride},
      {"plan", Fault::plan},
      {"capture", Fault::capture},
      {"slot", Fault::slot}};
  const char *text = std::getenv("HONE_FAKE_FAULT");
  for (auto [name, fault] : faults)
    if (text && std::strcmp(text, name) == 0)
      return fault;
  return Fault::none;
}

/// HONE_FAKE_MISSING_EPILOGUES="164,192", HONE_FAKE_EARLY=1, a fault, and
/// HONE_FAKE_TIMES=FILE (Clock.cpp): for whole programs, which no test can
/// reach into.
static State startState() {
  State state;
  state.settings.fault = startFault();
  state.settings.copiesRunAhead = std::getenv("HONE_FAKE_EARLY");
  if (const char *file = std::getenv("HONE_FAKE_TIMES"))
    state.settings.timesFile = file;
  const char *numbers = std::getenv("HONE_FAKE_MISSING_EPILOGUES");
  while (numbers && *numbers) {
    char *end = nullptr;
    long number = std::strtol(numbers, &end, 10);
    if (end == numbers)
      break;
    state.settings.missingEpilogues.insert(static_cast<int>(number));
    numbers = *end == ',' ? end + 1 : end;
  }
  return state;
}

State &fake::state() {
  static State state = startState();
  return played ? *played : state;
}

PlayedProcess::PlayedProcess(State &state)
    : outer(std::exchange(played, &state)) {}
PlayedProcess::~PlayedProcess() { played = outer; }

void State::reset() { *this = State(); }

void State::failCall(const std::string &function, int number, int code) {
  failures[function] = {number, code};
}

void State::died(const char *kind) {
  if (--live[kind] == 0)
    live.erase(kind);
}

CUresult State::load(const std::string &kernel) {
  bool isNew = loaded.insert(kernel).second;
  return isNew && messages > 0
             ? mistake(CUDA_ERROR_LAUNCH_FAILED,
                       kernel + " is loaded while a message may wait for it")
             : CUDA_SUCCESS;
}

CUresult State::mistake(CUresult code, const std::string &what) {
  static std::mutex mutex; // messages are made by threads of their own
  std::lock_guard<std::mutex> lock(mutex);
  mistakes.push_back(what);
  text = what;
  return code;
}

CUresult State::enter(const char *function, bool needsContext,
                      bool mayCapture) {
  ++calls[function];
  call = function;
  if (settings.keepsOrder)
    order.push_back(function);
  if (auto failure = failures.find(function); failure != failures.end())
    if (--failure->second.first == 0)
      return failure->second.second;
  if (sticky != CUDA_SUCCESS)
    return sticky;
  std::string name = function;
  if (needsContext && !isCurrent)
    return mistake(CUDA_ERROR_INVALID_CONTEXT, name + " without a context");
  if (isCapturing && !mayCapture)
    return mistake(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   name + " during a capture");
  return CUDA_SUCCESS;
}

static bool lies(const std::map<const char *, int64_t> &ranges,
                 const void *from, int64_t bytes) {
  auto *begin = static_cast<const char *>(from);
  auto after = ranges.upper_bound(begin);
  if (after == ranges.begin() || bytes < 0)
    return false;
  auto [start, size] = *std::prev(after);
  return begin + bytes <= start + size;
}

bool State::isOnDevice(const void *from, int64_t bytes) const {
  return lies(deviceMemory, from, bytes);
}

bool State::isPinned(const void *from, int64_t bytes) const {
  return lies(pinnedMemory, from, bytes) || lies(registeredMemory, from, bytes);
}
