//===- Emulator.cpp - Blocks of device threads on the host ----------------===//

#include "emulation/kernels/Emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

using namespace honert::emulator;

static thread_local Emulator *running = nullptr;

Emulator &Emulator::active() { return *running; }

bool Emulator::mayErr() {
  if (running)
    running->approximated = true;
  return running && running->errs;
}

Emulator::Emulator(const honemu_image &image) : image(image) {
  for (int64_t i = 0; i < image.global_count; ++i) {
    const honemu_segment &global = image.globals[i];
    memory.add(reinterpret_cast<uintptr_t>(global.address),
               static_cast<size_t>(global.bytes),
               global.writable ? Memory::Kind::Global : Memory::Kind::Constant);
  }
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

const honemu_kernel *Emulator::findKernel(const char *name) const {
  for (int64_t i = 0; i < image.kernel_count; ++i)
    if (std::strcmp(image.kernels[i].name, name) == 0)
      return &image.kernels[i];
  return nullptr;
}

/// Checks the shape of a launch as a driver does, and makes its threads.
std::string Emulator::prepare(int64_t blocks, int64_t count) {
  int64_t limit = kernel->max_threads > 0 ? kernel->max_threads : 1024;
  if (count < 1 || count > limit)
    return "runs with " + std::to_string(count) +
           " threads in a block, expected 1 to " + std::to_string(limit);
  if (blocks < 1 || blocks > INT32_MAX)
    return "runs with " + std::to_string(blocks) + " blocks, expected 1 to " +
           std::to_string(INT32_MAX);
  if (!fibres.reserve(static_cast<size_t>(count)))
    return "has " + std::to_string(count) +
           " threads in a block, for which there is no memory";
  threads.assign(static_cast<size_t>(count), Thread{});
  warps.resize((threads.size() + warpSize - 1) / warpSize);
  std::iota(warps.begin(), warps.end(), 0);
  gridBlocks = blocks;
  return "";
}

std::string Emulator::run(const char *name, int64_t blocks, int64_t count,
                          void **arguments, const honemu_options &options) {
  std::string who = "kernel '" + std::string(name) + "' ";
  kernel = findKernel(name);
  if (!kernel)
    return who + "is not part of the program";
  if (std::string refusal = prepare(blocks, count); !refusal.empty())
    return who + refusal;
  args = arguments;
  isMixed = options.seed != 0;
  errs = options.inexact != 0;
  approximated = false;
  faults = options.faults;
  random.seed(options.seed);
  mistake.clear();
  for (int64_t i = 0; i < kernel->segments; ++i)
    memory.add(reinterpret_cast<uintptr_t>(kernel->shared[i].address),
               static_cast<size_t>(kernel->shared[i].bytes),
               Memory::Kind::Shared);
  memory.beginLaunch(options.global_races != 0);
  Emulator *outer = running;
  running = this;
  // In an order drawn from the seed, by a step that meets every block once.
  int64_t first = 0, step = 1;
  if (isMixed) {
    first = static_cast<int64_t>(random() % static_cast<uint64_t>(blocks));
    do
      step = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(blocks));
    while (std::gcd(step, blocks) != 1);
  }
  for (int64_t turn = 0; turn < blocks && mistake.empty(); ++turn) {
    block = (first + turn * step) % blocks;
    runBlock();
  }
  running = outer;
  for (int64_t i = 0; i < kernel->segments; ++i)
    memory.remove(reinterpret_cast<uintptr_t>(kernel->shared[i].address));
  return mistake;
}

bool Emulator::fail(size_t thread, const std::string &what) {
  if (mistake.empty())
    mistake = "kernel '" + std::string(kernel->name) + "', block " +
              std::to_string(block) + ", thread " + std::to_string(thread) +
              ": " + what;
  return false;
}

template <typename T> void Emulator::mix(std::vector<T> &order) {
  if (isMixed)
    std::shuffle(order.begin(), order.end(), random);
}

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

void Emulator::runThread() {
  Emulator &self = active();
  self.kernel->thread(self.args);
  Thread &thread = self.threads[self.current];
  if (!thread.open.empty() || !thread.groups.empty())
    self.fail(self.current, "ends while its copies into shared memory go on");
  thread.state = State::Ended;
  self.fibres.leave();
}

bool Emulator::runBlock() {
  memory.beginBlock();
  for (int64_t i = 0; i < kernel->segments; ++i)
    std::memset(kernel->shared[i].address, 0xFF,
                static_cast<size_t>(kernel->shared[i].bytes));
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    threads[thread].state = State::Ready;
    fibres.start(thread, runThread);
  }
  auto hasEnded = [](const Thread &thread) {
    return thread.state == State::Ended;
  };
  while (!std::all_of(threads.begin(), threads.end(), hasEnded)) {
    mix(warps);
    for (size_t warp : warps)
      if (!runWarp(warp))
        return false;
    if (!meetAtBarrier())
      return false;
  }
  return true;
}

/// Lets the threads of a warp go on until each is at a barrier or has ended.
bool Emulator::runWarp(size_t warp) {
  size_t first = warp * warpSize;
  size_t end = std::min(first + warpSize, threads.size());
  std::vector<size_t> lanes(end - first);
  std::iota(lanes.begin(), lanes.end(), first);
  bool answered = true;
  while (answered) {
    mix(lanes);
    for (size_t thread : lanes) {
      if (threads[thread].state != State::Ready)
        continue;
      current = thread;
      fibres.enter(thread);
      if (!mistake.empty())
        return false;
    }
    if (!answerShuffles(first, end, answered))
      return false;
  }
  return true;
}

bool Emulator::meetAtBarrier() {
  auto count = [&](State state) {
    return std::count_if(
        threads.begin(), threads.end(),
        [&](const Thread &thread) { return thread.state == state; });
  };
  auto waiting = count(State::AtBarrier);
  if (waiting == 0)
    return true;
  for (size_t thread = 0; thread < threads.size(); ++thread)
    if (threads[thread].state == State::Ended)
      return fail(thread, "ends before a barrier at which " +
                              std::to_string(waiting) + " threads wait");
  memory.barrier();
  for (Thread &thread : threads)
    thread.state = State::Ready;
  return true;
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

static std::string describeMembers(uint32_t members) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", members);
  return text;
}

/// Whether every member of a thread's shuffle that still runs came to the same
/// shuffle.
bool Emulator::checkMembers(size_t first, size_t end, size_t thread) {
  const Shuffle &own = threads[thread].shuffle;
  auto complain = [&](const char *what, size_t lane, const char *where) {
    return fail(thread, "shuffle of members " + describeMembers(own.members) +
                            what + std::to_string(lane) + where);
  };
  if (!(own.members >> (thread - first) & 1))
    return complain(" leaves out its own lane ", thread - first, "");
  for (size_t other = first; other < end; ++other) {
    if (!(own.members >> (other - first) & 1))
      continue;
    const Thread &member = threads[other];
    if (member.state == State::AtBarrier)
      return complain(" waits for lane ", other - first,
                      ", which waits at a barrier");
    if (member.state == State::AtShuffle &&
        (member.shuffle.members != own.members ||
         member.shuffle.kind != own.kind ||
         member.shuffle.together != own.together))
      return complain(" waits for lane ", other - first,
                      ", which waits in another shuffle");
  }
  return true;
}

/// The bits of a vote of `members`: those that have ended cast none.
uint32_t Emulator::countVotes(size_t first, size_t end,
                              uint32_t members) const {
  uint32_t bits = 0;
  for (size_t thread = first; thread < end; ++thread)
    if (threads[thread].state == State::AtShuffle)
      bits |= threads[thread].shuffle.value << (thread - first);
  return bits & members;
}

/// Takes the value of the lane that a thread's shuffle names.
bool Emulator::readLane(size_t first, size_t end, size_t thread) {
  const Shuffle &own = threads[thread].shuffle;
  auto lane = static_cast<int>(thread - first);
  int distance = own.lane & 31, clamp = own.clamp & 31;
  int segments = own.clamp >> 8 & 31;
  int last = (lane & segments) | (clamp & ~segments & 31);
  int source = lane;
  bool isWithin = false;
  switch (own.kind) {
  case ShuffleKind::Up:
    source = lane - distance;
    isWithin = source >= last;
    break;
  case ShuffleKind::Down:
    source = lane + distance;
    isWithin = source <= last;
    break;
  case ShuffleKind::Bfly:
    source = lane ^ distance;
    isWithin = source <= last;
    break;
  case ShuffleKind::Idx:
    source = (lane & segments) | (distance & ~segments & 31);
    isWithin = source <= last;
    break;
  case ShuffleKind::Ballot:
    threads[thread].result = countVotes(first, end, own.members);
    return true;
  case ShuffleKind::Collective:
    return runTogether(first, end, thread);
  }
  if (!isWithin)
    source = lane;
  size_t other = first + static_cast<size_t>(source);
  auto complain = [&](const std::string &why) {
    return fail(thread, "shuffle reads lane " + std::to_string(source) + why);
  };
  if (!(own.members >> source & 1))
    return complain(", which is not of its members " +
                    describeMembers(own.members));
  if (other >= end)
    return complain(", which the block does not have");
  if (threads[other].state != State::AtShuffle)
    return complain(", which has ended");
  threads[thread].result = threads[other].shuffle.value;
  return true;
}

/// All lanes came to one computation.
bool Emulator::runTogether(size_t first, size_t end, size_t thread) {
  void *lanes[warpSize];
  for (size_t lane = 0; lane < warpSize; ++lane) {
    size_t other = first + lane;
    if (other >= end || threads[other].state != State::AtShuffle)
      return fail(thread,
                  "computes with all lanes of its warp, but lane " +
                      std::to_string(lane) +
                      (other >= end ? " does not exist" : " has ended"));
    lanes[lane] = threads[other].shuffle.own;
  }
  threads[thread].shuffle.together(lanes);
  return true;
}

bool Emulator::answerShuffles(size_t first, size_t end, bool &answered) {
  answered = false;
  auto isWaiting = [&](size_t thread) {
    return threads[thread].state == State::AtShuffle;
  };
  const Shuffle *checked = nullptr; // and so for all of its members
  for (size_t thread = first; thread < end; ++thread) {
    if (!isWaiting(thread))
      continue;
    answered = true;
    const Shuffle &own = threads[thread].shuffle;
    bool isChecked = checked && checked->members == own.members &&
                     (own.members >> (thread - first) & 1);
    if (!isChecked && !checkMembers(first, end, thread))
      return false;
    checked = &own;
    if (!readLane(first, end, thread))
      return false;
    if (own.kind == ShuffleKind::Collective)
      break; // of all lanes
  }
  for (size_t thread = first; thread < end; ++thread)
    if (isWaiting(thread))
      threads[thread].state = State::Ready;
  return true;
}

//===----------------------------------------------------------------------===//
// From the thread that runs
//===----------------------------------------------------------------------===//

void Emulator::waitAtBarrier() {
  if (faults & honemu_fault_barrier)
    return;
  threads[current].state = State::AtBarrier;
  fibres.leave();
}

uint32_t Emulator::exchange(const Shuffle &shuffle) {
  Thread &self = threads[current];
  self.shuffle = shuffle;
  self.state = State::AtShuffle;
  fibres.leave();
  bool isWrong =
      (faults & honemu_fault_shuffle) && shuffle.kind != ShuffleKind::Ballot;
  return isWrong ? shuffle.value : self.result;
}

void Emulator::computeTogether(WarpFunction function, void *own) {
  exchange({ShuffleKind::Collective, 0xFFFFFFFF, 0, 0, 0, function, own});
}

void Emulator::expectRight(const std::string &wrong) {
  if (wrong.empty())
    return;
  fail(current, wrong);
  // The access must not happen: this thread does not go on.
  fibres.leave();
}

void Emulator::access(uintptr_t address, size_t bytes, size_t alignment,
                      int64_t kind) {
  if (bytes == 0 || (faults & honemu_fault_barrier) ||
      (!(kind & honemu_is_shared) && fibres.isOnStack(address, bytes)))
    return;
  expectRight(memory.check(
      {address, bytes, alignment, (kind & honemu_writes) != 0,
       (kind & honemu_is_atomic) != 0, (kind & honemu_is_shared) != 0,
       (kind & honemu_is_constant) != 0, static_cast<uint32_t>(current)}));
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

static Access writeOf(const AsyncCopy &copy, size_t thread) {
  return {reinterpret_cast<uintptr_t>(copy.to),
          copy.bytes,
          copy.bytes,
          /*writes=*/true,
          /*isAtomic=*/false,
          /*isShared=*/true,
          /*isConstant=*/false,
          static_cast<uint32_t>(thread)};
}

void Emulator::beginCopy(const AsyncCopy &copy) {
  auto from = reinterpret_cast<uintptr_t>(copy.from);
  if (copy.read > copy.bytes)
    expectRight("copies " + std::to_string(copy.read) + " bytes, expected " +
                std::to_string(copy.bytes) + " at most");
  access(from, copy.read, copy.bytes, /*kind=*/0);
  if (!(faults & honemu_fault_barrier))
    expectRight(memory.beginCopy(writeOf(copy, current)));
  threads[current].open.push_back(copy);
}

void Emulator::closeCopies() {
  Thread &self = threads[current];
  self.groups.push_back(std::move(self.open));
  self.open.clear();
}

void Emulator::endCopy(const AsyncCopy &copy) {
  if (!(faults & honemu_fault_barrier))
    expectRight(memory.endCopy(writeOf(copy, current)));
  std::memset(copy.to, 0, copy.bytes);
  if (copy.read > 0)
    std::memcpy(copy.to, copy.from, copy.read);
}

void Emulator::waitForCopies(size_t left) {
  Thread &self = threads[current];
  while (self.groups.size() > left) {
    for (const AsyncCopy &copy : self.groups.front())
      endCopy(copy);
    self.groups.pop_front();
  }
}
