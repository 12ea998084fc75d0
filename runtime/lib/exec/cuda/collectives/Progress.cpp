//===- Progress.cpp - Which collective a GPU is in ------------------------===//

#include "exec/cuda/collectives/Progress.h"

#include <algorithm>
#include <cstring>

using namespace honert;

static constexpr int64_t wordBytes = sizeof(uint32_t);

CollectiveProgress::CollectiveProgress(const Program &program) {
  for (const Function &function : program.functions)
    describe(program, function);
}

CollectiveProgress::~CollectiveProgress() {
  if (stream)
    (void)device->functions().cuStreamDestroy_v2(stream);
}

void CollectiveProgress::describe(const Program &program,
                                  const Function &function) {
  Places &places = placesOf[&function];
  for (const Launch &launch : function.launches) {
    auto *collective = std::get_if<CollectiveLaunch>(&launch.action);
    if (!collective || program.mesh.groupSize(collective->axes) == 1)
      continue;
    std::string text = format("%s %s of %s", name(collective->kind),
                              program.mesh.text(collective->axes).c_str(),
                              formatBytes(collective->inBytes()).c_str());
    if (!launch.location.empty())
      text += " at " + launch.location;
    places.push_back(text);
    numberOf[&launch] = static_cast<uint32_t>(places.size());
  }
  for (size_t i = 0; i != places.size(); ++i)
    places[i] += format(" (%zu of %zu in '%s')", i + 1, places.size(),
                        function.name.c_str());
}

Status CollectiveProgress::start(const Device &onDevice) {
  device = &onDevice;
  const char *what = "the places of collectives cannot be copied to the GPU";
  size_t most = 0;
  for (const auto &[function, places] : placesOf)
    most = std::max(most, places.size());
  std::vector<uint32_t> words(1 + most + 2);
  for (size_t number = 0; number <= most; ++number)
    words[1 + number] = static_cast<uint32_t>(number);
  size_t bytes = words.size() * wordBytes;
  HONERT_TRY(table.allocate(onDevice, static_cast<int64_t>(bytes),
                            "the places of collectives"));
  HONERT_TRY(pinned.allocate(onDevice, 3 * wordBytes));
  std::memset(pinned.at(0), 0, 3 * wordBytes);
  HONERT_TRY(onDevice.check(
      onDevice.functions().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
      "a stream cannot be made"));
  for (DeviceEvent *event : {&passed, &reached})
    HONERT_TRY(event->create(onDevice, /*timed=*/false));
  HONERT_TRY(
      onDevice.check(onDevice.functions().cuMemcpyHtoDAsync_v2(
                         table.at(0), words.data(), bytes, onDevice.stream()),
                     what));
  return onDevice.synchronize(what);
}

/// A word that the device may be writing: the old one or the new one. Under
/// ThreadSanitizer the emulated device is a thread that copies bytes.
__attribute__((no_sanitize("thread"))) static uint32_t
readWord(const volatile uint32_t *word) {
  return *word;
}

/// `count` words: from the table's word `from` to the host's word `to`.
Status CollectiveProgress::copyDown(int64_t to, int64_t from, int64_t count,
                                    CUstream onStream) {
  return device->check(device->functions().cuMemcpyDtoHAsync_v2(
                           pinned.at(to * wordBytes),
                           table.at(from * wordBytes),
                           static_cast<size_t>(count * wordBytes), onStream),
                       "the place of a collective cannot be told");
}

Status CollectiveProgress::begin(const Function &function) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    running[++launched] = &function;
  }
  HONERT_TRY(device->check(device->functions().cuMemsetD32Async(
                               table.at(0), launched, 1, device->stream()),
                           "a run cannot be numbered"));
  return copyDown(0, 0, 2, device->stream());
}

Status CollectiveProgress::mark(const Launch &launch, const DeviceEvent &done) {
  auto found = numberOf.find(&launch);
  if (found == numberOf.end())
    return Status();
  isMarked = true;
  HONERT_TRY(done.holdBack(stream));
  return copyDown(1, 1 + int64_t(found->second), 1, stream);
}

Status CollectiveProgress::tellAwait(uint32_t word) {
  int64_t at = table.bytes() / wordBytes - 1;
  HONERT_TRY(device->check(device->functions().cuMemsetD32Async(
                               table.at(at * wordBytes), word, 1, stream),
                           "a wait for a message cannot be numbered"));
  return copyDown(2, at, 1, stream);
}

Status CollectiveProgress::await(const std::string &what,
                                 const DeviceEvent &done) {
  uint32_t number = ++awaits;
  {
    auto *words = reinterpret_cast<const volatile uint32_t *>(pinned.at(0));
    std::lock_guard<std::mutex> lock(mutex);
    awaited.erase(awaited.begin(),
                  awaited.upper_bound(readWord(words + 2) / 2));
    awaited[number] = what;
  }
  HONERT_TRY(reached.record());
  HONERT_TRY(reached.holdBack(stream));
  HONERT_TRY(tellAwait(2 * number - 1));
  HONERT_TRY(done.holdBack(stream));
  return tellAwait(2 * number);
}

Status CollectiveProgress::end() {
  if (!std::exchange(isMarked, false))
    return Status();
  HONERT_TRY(passed.record(stream));
  return passed.holdBack(device->stream());
}

void CollectiveProgress::collectStep() {
  std::lock_guard<std::mutex> lock(mutex);
  running.erase(running.begin(), running.upper_bound(ended.front()));
  ended.pop_front();
}

CollectiveProgress::Place CollectiveProgress::current() const {
  constexpr uint64_t ofAwaits = uint64_t(1) << 63;
  auto *words = reinterpret_cast<const volatile uint32_t *>(pinned.at(0));
  std::lock_guard<std::mutex> lock(mutex);
  uint32_t wait = readWord(words + 2);
  if (auto found = awaited.find(wait / 2 + 1);
      wait % 2 == 1 && found != awaited.end())
    return {ofAwaits | found->first, found->second};
  uint32_t run = readWord(words);
  auto found = running.find(run);
  if (found == running.end())
    return {};
  const Places &places = placesOf.at(found->second);
  uint32_t passed = readWord(words + 1);
  if (passed >= places.size())
    return {};
  return {uint64_t(run) << 31 | (passed + 1), places[passed]};
}

void CollectiveProgress::look() {
  Place place = current();
  if (shown == place.key)
    return;
  if (shown)
    entries.end(shownNumber);
  shown = place.key;
  if (!shown)
    return;
  shownNumber = entries.begin(place.text);
  entries.wait(shownNumber);
}
