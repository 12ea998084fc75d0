//===- Batches.cpp - From a token stream to batches -----------------------===//

#include "io/data/Batches.h"

#include <algorithm>
#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA'14).
static uint64_t scramble(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

Permutation::Permutation(int64_t size, uint64_t key)
    : size(static_cast<uint64_t>(size)), key(key), halfBits(1) {
  while (halfBits < 31 && (uint64_t{1} << 2 * halfBits) < this->size)
    ++halfBits;
}

int64_t Permutation::operator()(int64_t index) const {
  uint64_t mask = (uint64_t{1} << halfBits) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      uint64_t mixed = scramble(scramble(key + round) ^ right) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    value = left << halfBits | right;
  } while (value >= size);
  return static_cast<int64_t>(value);
}

BatchOrder::BatchOrder(int64_t tokens, int64_t rows, int64_t columns,
                       bool shuffle, uint64_t seed)
    : tokens(tokens - 1), rows(rows), columns(columns), shuffle(shuffle),
      seed(seed) {}

int64_t BatchOrder::windowBegin(int64_t index, int64_t row) const {
  if (!shuffle)
    return (index % batchesPerEpoch() * rows + row) * columns;
  int64_t windows = tokens / columns;
  int64_t position = index * rows + row;
  auto epoch = static_cast<uint64_t>(position / windows);
  Permutation permutation(windows, scramble(seed) + scramble(~epoch));
  return permutation(position % windows) * columns;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

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

Status Batches::open(const std::string &path, const Program &program,
                     const ProcessGroup &world, bool shuffle, uint64_t seed,
                     const ThreadPool &pool, const ReadProgress &progress) {
  const Argument *tokens = program.input(Role::tokens);
  columns = tokens->whole.back();
  rows = *elementCount(tokens->whole) / columns;
  bool isNarrow = false;
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::input || argument.role == Role::none)
      continue;
    inputs.push_back({&argument,
                      PartLayout(argument, argument.parts.front(), program.mesh,
                                 world.rank()),
                      argument.role == Role::targets ? 1 : 0});
    isNarrow |= argument.dtype == DType::i32;
    if (inputs.size() == 1)
      ids = IdBounds::of(argument);
    else
      ids.intersect(IdBounds::of(argument));
  }
  HONERT_TRY(file.open(path));
  if (file.size() <= rows * columns)
    return Status::error(format(
        "%s: holds %lld tokens, expected at least %lld (a batch of %lld x %lld "
        "and one more)",
        path.c_str(), static_cast<long long>(file.size()),
        static_cast<long long>(rows) * columns + 1,
        static_cast<long long>(rows), static_cast<long long>(columns)));
  constexpr int64_t mostNarrow = int64_t{1} << 31;
  if (isNarrow)
    ids.vocab = ids.vocab ? std::min(ids.vocab, mostNarrow) : mostNarrow;
  HONERT_TRY(file.checkIds(ids, pool, world.rank(), world.size(), progress));
  order =
      std::make_unique<BatchOrder>(file.size(), rows, columns, shuffle, seed);
  return Status();
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
Status Batches::fillRow(const Input &input, int64_t begin, int64_t place,
                        int64_t count, char *target) const {
  constexpr int64_t most = 512;
  int64_t read[most];
  DType dtype = input.argument->dtype;
  for (int64_t done = 0; done < count; done += most) {
    int64_t now = std::min(most, count - done);
    file.read(begin + done, now, read);
    if (int64_t at = ids.findOther(read, now); at != now)
      return Status::error(
          file.refuseId(ids, begin + done + at, read[at]).message() +
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
        int64_t begin = order->windowBegin(index, row) + column + input.shift;
        if (status.ok())
          status = fillRow(input, begin, place, count, targets[i]);
        if (i + 1 == inputs.size())
          file.release(begin, count);
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
