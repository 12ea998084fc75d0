//===- Comparison.cpp - Each launch of a GPU beside the host's ------------===//

#include "exec/cuda/compare/Comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace honert;

/// Up to here all of the arena is compared after each launch, else after each
/// function: a GPU brings down some 20 GB/s.
static constexpr int64_t smallArena = 256 << 20;

LaunchComparison::LaunchComparison(const Program &program, const Device &device,
                                   const DeviceMemory &arena,
                                   const char *hostArena, bool roundsToTf32,
                                   const ThreadPool &pool, ProcessGroup *world)
    : program(program), device(device), arena(arena), hostArena(hostArena),
      reference(program, roundsToTf32, pool, world) {}

Status LaunchComparison::download(int64_t offset, int64_t bytes,
                                  char *to) const {
  return device.download(to, arena.at(offset), bytes,
                         "the arena cannot be copied from the GPU");
}

Status LaunchComparison::start() {
  HONERT_TRY(mirror.allocate(program.arenaBytes,
                             "the arena's copy for --compare-launches"));
  return reference.start(mirror.at(0));
}

Status LaunchComparison::begin(const Function &next) {
  function = &next;
  number = 0;
  return download(0, program.arenaBytes, mirror.at(0));
}

//===----------------------------------------------------------------------===//
// Copies between the arenas
//===----------------------------------------------------------------------===//

/// Nobody writes the bytes that a copy reads until it is waited for.
void LaunchComparison::beginCopy(const CopyLaunch &copy) {
  if (copy.direction == CopyDirection::up)
    std::memcpy(mirror.at(copy.offset), hostArena + copy.hostOffset,
                static_cast<size_t>(copy.bytes));
  copies[copy.token].push_back(copy);
}

/// Copies down are compared where they went, copies up in the arena.
Status LaunchComparison::checkCopies(const Launch &launch, int64_t token) {
  std::vector<CopyLaunch> done = std::move(copies[token]);
  copies.erase(token);
  for (const CopyLaunch &copy : done) {
    auto size = static_cast<size_t>(copy.bytes);
    actual.resize(size);
    if (copy.direction == CopyDirection::up)
      HONERT_TRY(download(copy.offset, copy.bytes, actual.data()));
    else
      std::memcpy(actual.data(), hostArena + copy.hostOffset, size);
    if (std::memcmp(actual.data(), mirror.at(copy.offset), size) != 0)
      return Status::error(format(
          "%s: %lld bytes copied %s at byte %lld of the second arena are "
          "not those that were to be copied",
          whoOf(launch).c_str(), static_cast<long long>(copy.bytes),
          name(copy.direction), static_cast<long long>(copy.hostOffset)));
    ++equal;
  }
  return Status();
}

Status LaunchComparison::expect(const Launch &launch) {
  ++number;
  written.clear();
  if (auto *wait = std::get_if<WaitLaunch>(&launch.action)) {
    written = std::move(begun[wait->token]);
    begun.erase(wait->token);
    return reference.finish(wait->token);
  }
  if (auto *copy = std::get_if<CopyLaunch>(&launch.action))
    beginCopy(*copy);
  Status status = reference.run(launch, written);
  if (!status.ok())
    return Status::error(whoOf(launch) + ": " + status.message());
  auto *collective = std::get_if<CollectiveLaunch>(&launch.action);
  if (collective && collective->isAsynchronous())
    begun[collective->token] = std::move(written);
  return Status();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// "launch 12 of 'step', gelu blocks.0.mlp at model.py:3, kernel k3_row_..."
std::string LaunchComparison::whoOf(const Launch &launch) const {
  std::string text = format("launch %zu of '%s', %s", number,
                            function->name.c_str(), launch.name.c_str());
  if (!launch.location.empty())
    text += " at " + launch.location;
  if (auto *kernel = std::get_if<DeviceLaunch>(&launch.action))
    text += ", kernel " + kernel->kernel;
  return text;
}

/// "[3,17]" of element 145 of a tensor of 128 columns.
static std::string indexText(int64_t element, const Shape &dims) {
  Shape index(dims.size());
  for (size_t i = dims.size(); i-- != 0;) {
    index[i] = element % dims[i];
    element /= dims[i];
  }
  return toString(index);
}

/// What an element is called: that of an argument or a result by its name and
/// index, any other by its tensor's place among what the launch writes.
std::string LaunchComparison::nameOf(const Expected &expected,
                                     int64_t element) const {
  const ArenaTensor &tensor = expected.tensor;
  int64_t at = tensor.offset + element * byteWidth(tensor.dtype);
  for (const Argument &argument : program.arguments)
    if (at >= argument.offset && at < argument.offset + argument.bytes &&
        argument.dtype == tensor.dtype)
      return format("%s %s%s", name(argument.kind), argument.fqn.c_str(),
                    indexText((at - argument.offset) / byteWidth(tensor.dtype),
                              argument.dims)
                        .c_str());
  for (const Result &result : function->results)
    if (at >= result.offset && result.dtype == tensor.dtype &&
        at < result.offset + byteCount(result.dtype, result.dims).value_or(0))
      return format(
          "%s%s", result.name.c_str(),
          indexText((at - result.offset) / byteWidth(tensor.dtype), result.dims)
              .c_str());
  auto place = &expected - written.data();
  return format("element %lld of output %lld (%s, %lld elements at byte %lld)",
                static_cast<long long>(element),
                static_cast<long long>(place + 1), name(tensor.dtype),
                static_cast<long long>(tensor.count),
                static_cast<long long>(tensor.offset));
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

Status LaunchComparison::compare(const Launch &launch,
                                 const Expected &expected) {
  const char *should = mirror.at(expected.tensor.offset);
  Difference found = honert::compare(expected, actual.data(), should);
  if (found.worst > worst) {
    worst = found.worst;
    worstWho = whoOf(launch);
  }
  if (found.wrong == 0)
    return Status();
  return Status::error(whoOf(launch) + ": " + nameOf(expected, found.first) +
                       " is " + found.text(expected, actual.data(), should));
}

/// The next launch begins with what the GPU has.
void LaunchComparison::take(const Expected &expected) {
  int64_t width = byteWidth(expected.tensor.dtype);
  char *to = mirror.at(expected.tensor.offset);
  if (expected.each.empty())
    std::copy(actual.begin(), actual.end(), to);
  for (size_t i = 0; i != expected.each.size(); ++i)
    if (expected.has(static_cast<int64_t>(i)))
      std::memcpy(to + i * width, actual.data() + i * width, width);
}

/// No byte has changed but those that launches write.
Status LaunchComparison::checkRest(const std::string &who) {
  actual.resize(static_cast<size_t>(program.arenaBytes));
  HONERT_TRY(download(0, program.arenaBytes, actual.data()));
  auto leaveOut = [&](int64_t offset, int64_t bytes) {
    std::memcpy(actual.data() + offset, mirror.at(offset),
                static_cast<size_t>(bytes));
  };
  for (const auto &[token, tensors] : begun) // the GPU may be at it
    for (const Expected &each : tensors)
      leaveOut(each.tensor.offset, each.tensor.bytes());
  for (const auto &[token, under] : copies)
    for (const CopyLaunch &copy : under)
      leaveOut(copy.offset, copy.bytes);
  auto [seen, should] =
      std::mismatch(actual.begin(), actual.end(), mirror.at(0));
  if (seen == actual.end())
    return Status();
  int64_t at = should - mirror.at(0);
  std::string owner;
  for (const Argument &argument : program.arguments)
    if (at >= argument.offset && at < argument.offset + argument.bytes)
      owner = format(" (%s %s)", name(argument.kind), argument.fqn.c_str());
  return Status::error(format(
      "%s: byte %lld of the arena%s has changed, which no launch writes here",
      who.c_str(), static_cast<long long>(at), owner.c_str()));
}

Status LaunchComparison::check(const Launch &launch) {
  if (auto *wait = std::get_if<CopyWaitLaunch>(&launch.action))
    HONERT_TRY(checkCopies(launch, wait->token));
  double before = std::exchange(worst, 0);
  std::string beforeWho = std::exchange(worstWho, "");
  bool isCompared = false;
  for (const Expected &expected : written) {
    const ArenaTensor &tensor = expected.tensor;
    actual.resize(static_cast<size_t>(tensor.bytes()));
    HONERT_TRY(download(tensor.offset, tensor.bytes(), actual.data()));
    if (expected.isCompared)
      HONERT_TRY(compare(launch, expected));
    isCompared |= expected.isCompared;
    take(expected);
  }
  if (!written.empty())
    ++(!isCompared ? taken : worst == 0 ? equal : close);
  if (before >= worst) {
    worst = before;
    worstWho = beforeWho;
  }
  return program.arenaBytes <= smallArena ? checkRest(whoOf(launch)) : Status();
}

Status LaunchComparison::end() {
  if (program.arenaBytes <= smallArena)
    return Status();
  return checkRest(format("function '%s'", function->name.c_str()));
}

std::string LaunchComparison::summary() const {
  std::string text = format(
      "launches as the host's: %lld, of these bit for bit: %lld",
      static_cast<long long>(equal + close), static_cast<long long>(equal));
  if (close > 0)
    text += format("; largest difference: %.2g of what is allowed, in %s",
                   worst, worstWho.c_str());
  if (taken > 0)
    text += format("; not compared: %lld (attention with dropout, collectives "
                   "without MPI)",
                   static_cast<long long>(taken));
  return text;
}
