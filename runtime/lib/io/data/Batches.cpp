//===- Batches.cpp - From a token stream to batches -----------------------===//

#include "io/data/Batches.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace honert;

Batches::~Batches() {
  if (!reader.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stop = true;
  }
  changed.notify_all();
  reader.join();
}

/// Opens the files of a source and finds out whether they are long enough.
Status Batches::openSource(const TokenSource &source, bool shuffle,
                           uint64_t seed) {
  TokenStream stream;
  HONERT_TRY(stream.open(source.files));
  if (stream.size() > mostTokens - tokens())
    return tooManyTokens(source.files.back());
  int64_t orderRows = source.slots ? 1 : rows, least = orderRows * columns;
  if (stream.size() <= least)
    return Status::error(
        source.name() +
        format(": holds %lld tokens, expected at least %lld (a %s and one "
               "more)",
               static_cast<long long>(stream.size()),
               static_cast<long long>(least) + 1,
               source.slots
                   ? format("window of %lld", static_cast<long long>(columns))
                         .c_str()
                   : format("batch of %lld x %lld",
                            static_cast<long long>(rows),
                            static_cast<long long>(columns))
                         .c_str()));
  // Sources of equal length are not visited in the same order.
  uint64_t own = seed + sources.size() * 0x9E3779B97F4A7C15;
  BatchOrder order(stream.size(), orderRows, columns, shuffle, own);
  sources.push_back({std::move(stream), order});
  return Status();
}

Status Batches::open(const std::vector<TokenSource> &given,
                     const Program &program, const ProcessGroup &world,
                     bool shuffle, uint64_t seed, const ThreadPool &pool,
                     const ReadProgress &progress) {
  const Argument *input = program.input(Role::tokens);
  columns = input->whole.back();
  rows = *elementCount(input->whole) / columns;
  bool isNarrow = false;
  bool isFirst = true;
  for (const Argument &argument : program.whole().arguments) {
    if (argument.kind != Kind::input || argument.role == Role::none)
      continue;
    if (const Argument *own = program.own(argument))
      inputs.push_back(
          {own,
           PartLayout(*own, own->parts.front(), program.mesh, world.rank()),
           own->role == Role::targets ? 1 : 0});
    isNarrow |= argument.dtype == DType::i32;
    if (std::exchange(isFirst, false))
      ids = IdBounds::of(argument);
    else
      ids.intersect(IdBounds::of(argument));
  }
  constexpr int64_t mostNarrow = int64_t{1} << 31;
  if (isNarrow)
    ids.vocab = ids.vocab ? std::min(ids.vocab, mostNarrow) : mostNarrow;
  std::vector<int64_t> slots;
  for (const TokenSource &source : given) {
    HONERT_TRY(openSource(source, shuffle, seed));
    slots.push_back(source.slots);
  }
  if (given.size() > 1)
    mixture = Mixture(std::move(slots));
  double done = 0, all = static_cast<double>(tokens());
  for (const Source &source : sources) {
    double share = static_cast<double>(source.stream.size()) / all;
    ReadProgress ofSource;
    if (progress)
      ofSource = [&](double fraction) { progress(done + fraction * share); };
    HONERT_TRY(source.stream.checkIds(ids, pool, world.rank(), world.size(),
                                      ofSource));
    done += share;
  }
  if (progress)
    progress(1);
  return Status();
}

int64_t Batches::tokens() const {
  int64_t sum = 0;
  for (const Source &source : sources)
    sum += source.stream.size();
  return sum;
}

double Batches::passesOver(size_t source, int64_t count) const {
  double epoch = static_cast<double>(sources[source].order.batchesPerEpoch());
  if (sources.size() == 1)
    return static_cast<double>(count) / epoch;
  double share = static_cast<double>(mixture.slotsOf(source)) /
                 static_cast<double>(Mixture::slots);
  return static_cast<double>(count) * static_cast<double>(rows) * share / epoch;
}

Batches::Window Batches::windowOf(int64_t index, int64_t row) const {
  if (sources.size() == 1)
    return {&sources.front().stream,
            sources.front().order.windowBegin(index, row)};
  Mixture::Place place = mixture.at(index * rows + row);
  const Source &source = sources[place.source];
  return {&source.stream, source.order.windowBegin(place.window, /*row=*/0)};
}

static void storeIds(const int64_t *ids, int64_t n, DType dtype, char *target) {
  if (dtype == DType::i64) {
    std::memcpy(target, ids, static_cast<size_t>(n) * 8);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    auto id = static_cast<int32_t>(ids[i]);
    std::memcpy(target + i * 4, &id, 4);
  }
}

/// `count` ids of the stream from `begin` on, to `place` of an input. They are
/// checked again: the file may have changed since.
Status Batches::fillRow(const Input &input, const TokenStream &stream,
                        int64_t begin, int64_t place, int64_t count,
                        char *target) const {
  constexpr int64_t most = 512;
  int64_t read[most];
  DType dtype = input.argument->dtype;
  for (int64_t done = 0; done < count; done += most) {
    int64_t now = std::min(most, count - done);
    stream.read(begin + done, now, read);
    if (int64_t at = ids.findOther(read, now); at != now)
      return Status::error(
          stream.refuseId(ids, begin + done + at, read[at]).message() +
          "; the file has changed since the run began");
    storeIds(read, now, dtype, target + (place + done) * byteWidth(dtype));
  }
  return Status();
}

Status Batches::fill(int64_t index, const std::vector<char *> &targets) const {
  Status status;
  for (size_t i = 0; i != inputs.size(); ++i) {
    const Input &input = inputs[i];
    auto fillRun = [&](int64_t position, int64_t place, int64_t length) {
      for (int64_t count; length > 0;
           position += count, place += count, length -= count) {
        int64_t row = position / columns, column = position % columns;
        count = std::min(length, columns - column);
        auto [stream, first] = windowOf(index, row);
        int64_t begin = first + column + input.shift;
        if (status.ok())
          status = fillRow(input, *stream, begin, place, count, targets[i]);
        if (i + 1 == inputs.size())
          stream->release(begin, count);
      }
    };
    input.layout.forEachRun(0, input.layout.size(), fillRun);
  }
  return status;
}

void Batches::readAhead(int64_t index) {
  for (;; ++index) {
    Slot &slot = slots[index % 2];
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return stop || slot.index < 0; });
      if (stop)
        return;
    }
    // The slot is this thread's while its index is < 0.
    std::vector<char *> targets;
    for (std::vector<char> &input : slot.inputs)
      targets.push_back(input.data());
    Status status = fill(index, targets);
    {
      std::lock_guard<std::mutex> lock(mutex);
      slot.status = std::move(status);
      slot.index = index;
    }
    changed.notify_all();
  }
}

void Batches::prefetchFrom(int64_t index) {
  for (Slot &slot : slots)
    for (const Input &input : inputs)
      slot.inputs.emplace_back(static_cast<size_t>(input.argument->bytes));
  reader = std::thread([this, index] { readAhead(index); });
}

Status Batches::load(int64_t index, char *arena) {
  std::vector<char *> targets;
  for (const Input &input : inputs)
    targets.push_back(arena + input.argument->offset);
  if (!reader.joinable())
    return fill(index, targets);
  Slot &slot = slots[index % 2];
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return slot.index == index; });
  }
  HONERT_TRY(slot.status);
  for (size_t i = 0; i != inputs.size(); ++i)
    std::memcpy(targets[i], slot.inputs[i].data(), slot.inputs[i].size());
  {
    std::lock_guard<std::mutex> lock(mutex);
    slot.index = -1;
  }
  changed.notify_all();
  return Status();
}
