//===- Progress.cpp - Which collective a GPU is in ------------------------===//

#include "exec/cuda/collectives/Progress.h"

#include <algorithm>
#include <cstring>

using namespace honert;

static constexpr int64_t wordBytes = sizeof(uint32_t);

CollectiveProgress::CollectiveProgress(const Program &program,
                                       const std::vector<Axes> &lists)
    : lines(lists.size()) {
  for (const Function &function : program.functions)
    describe(program, function, lists);
}

void CollectiveProgress::describe(const Program &program,
                                  const Function &function,
                                  const std::vector<Axes> &lists) {
  Places &places = placesOf[&function];
  std::vector<uint32_t> counts(lines);
  for (const Launch &launch : function.launches) {
    auto *collective = std::get_if<CollectiveLaunch>(&launch.action);
    if (!collective)
      continue;
    auto list = std::find(lists.begin(), lists.end(), collective->axes);
    if (list == lists.end()) // of one rank
      continue;
    auto line = static_cast<size_t>(list - lists.begin());
    std::string text = format("%s %s of %s", name(collective->kind),
                              program.mesh.text(collective->axes).c_str(),
                              formatBytes(collective->inBytes()).c_str());
    if (!launch.location.empty())
      text += " at " + launch.location;
    placeOf[&launch] = {&function, places.size()};
    places.push_back({line, ++counts[line], text});
  }
  for (size_t i = 0; i != places.size(); ++i)
    places[i].text += format(" (%zu of %zu in '%s')", i + 1, places.size(),
                             function.name.c_str());
}

Status CollectiveProgress::start(const Device &onDevice) {
  device = &onDevice;
  const char *what = "the places of collectives cannot be copied to the GPU";
  size_t most = 0;
  for (const auto &[function, places] : placesOf)
    most = std::max(most, places.size());
  std::vector<uint32_t> words(lines + 1 + most + 1);
  for (size_t number = 0; number <= most; ++number)
    words[lines + 1 + number] = static_cast<uint32_t>(number);
  size_t bytes = words.size() * wordBytes, row = (lines + 1) * wordBytes;
  HONERT_TRY(table.allocate(onDevice, static_cast<int64_t>(bytes),
                            "the places of collectives"));
  HONERT_TRY(pinned.allocate(onDevice, static_cast<int64_t>(row)));
  std::memset(pinned.at(0), 0, row);
  HONERT_TRY(
      onDevice.check(onDevice.functions().cuMemcpyHtoDAsync_v2(
                         table.at(0), words.data(), bytes, onDevice.stream()),
                     what));
  return onDevice.synchronize(what);
}

/// `count` words: from the table's word `from` to the host's word `to`.
Status CollectiveProgress::copyDown(int64_t to, int64_t from, int64_t count,
                                    CUstream stream) {
  return device->check(device->functions().cuMemcpyDtoHAsync_v2(
                           pinned.at(to * wordBytes),
                           table.at(from * wordBytes),
                           static_cast<size_t>(count * wordBytes), stream),
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
  return copyDown(0, 0, static_cast<int64_t>(lines + 1), device->stream());
}

Status CollectiveProgress::mark(const Launch &launch, CUstream stream) {
  auto found = placeOf.find(&launch);
  if (found == placeOf.end())
    return Status();
  auto [function, index] = found->second;
  const Place &place = placesOf.at(function)[index];
  return copyDown(static_cast<int64_t>(1 + place.line),
                  static_cast<int64_t>(lines + 1 + place.number), 1, stream);
}

void CollectiveProgress::collectStep() {
  std::lock_guard<std::mutex> lock(mutex);
  running.erase(running.begin(), running.upper_bound(ended.front()));
  ended.pop_front();
}

/// A word that the device may be writing: the old one or the new one. Under
/// ThreadSanitizer the emulated device is a thread that copies bytes.
__attribute__((no_sanitize("thread"))) static uint32_t
readWord(const volatile uint32_t *word) {
  return *word;
}

const CollectiveProgress::Place *
CollectiveProgress::current(uint32_t &run) const {
  auto *words = reinterpret_cast<const volatile uint32_t *>(pinned.at(0));
  std::lock_guard<std::mutex> lock(mutex);
  run = readWord(words);
  auto found = running.find(run);
  if (found == running.end())
    return nullptr;
  for (const Place &place : placesOf.at(found->second))
    if (readWord(words + 1 + place.line) < place.number)
      return &place;
  return nullptr;
}

void CollectiveProgress::look() {
  uint32_t run = 0;
  const Place *place = current(run);
  if (shown == std::make_pair(run, place))
    return;
  if (shown.second)
    entries.end(shownNumber);
  shown = {run, place};
  if (!place)
    return;
  shownNumber = entries.begin(place->text);
  entries.wait(shownNumber);
}
