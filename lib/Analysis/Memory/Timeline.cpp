//===- Timeline.cpp - What lives in the arena, by launch ------------------===//

#include "hone/Analysis/Memory/Timeline.h"

#include "hone/IR/Locations.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <map>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace hone;
using namespace hone::plan;

//===----------------------------------------------------------------------===//
// Categories
//===----------------------------------------------------------------------===//

StringRef hone::categoryName(MemoryCategory category) {
  static constexpr std::array<StringLiteral, memoryCategories> names = {
      "parameters",  "optimizer",   "working copies", "inputs", "gradients",
      "activations", "temporaries", "workspaces",     "caches"};
  return names[static_cast<size_t>(category)];
}

MemoryCategory hone::categoryOfState(StringRef kind) {
  return llvm::StringSwitch<MemoryCategory>(kind)
      .Case(kind::param, MemoryCategory::Parameters)
      .Case(kind::workingCopy, MemoryCategory::WorkingCopies)
      .Case(kind::opt, MemoryCategory::Optimizer)
      .Case(kind::grad, MemoryCategory::Gradients)
      .Case(kind::cache, MemoryCategory::Caches)
      .Cases(kind::boundary, kind::saved, MemoryCategory::Activations)
      .Default(MemoryCategory::Inputs);
}

static MemoryCategory categoryOf(Purpose purpose) {
  switch (purpose) {
  case Purpose::activations:
    return MemoryCategory::Activations;
  case Purpose::gradients:
    return MemoryCategory::Gradients;
  case Purpose::workspaces:
    return MemoryCategory::Workspaces;
  case Purpose::temporaries:
    return MemoryCategory::Temporaries;
  }
  llvm_unreachable("all purposes are listed");
}

int64_t MemoryBytes::total() const {
  return std::accumulate(byCategory.begin(), byCategory.end(), int64_t(0));
}

static int64_t aligned(int64_t bytes) {
  return llvm::alignTo(bytes, plan::alignment);
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {
/// A buffer that is no state, and the launches between which it is needed.
struct Life {
  BufferOp buffer;
  int64_t begin, end; // bytes of the arena
  int64_t first, last;
  MemoryCategory category;
  LaunchOp launch;                // the first that uses it
  std::optional<unsigned> output; // of that launch
};

/// The lives of the buffers of one function.
class Lives {
public:
  Lives(FunctionOp function, int64_t stateEnd) : stateEnd(stateEnd) {
    for (Operation &op : function.getBody().front()) {
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        launches.push_back(launch);
        for (auto [index, output] : llvm::enumerate(launch.getOutputs()))
          use(output, launch, index);
        for (auto buffers : {launch.getInputs(), launch.getScratch()})
          for (Value buffer : buffers)
            use(buffer, launch);
      } else if (auto copy = dyn_cast<CopyOp>(op)) {
        copies.push_back(copy);
        begin(copy);
      } else if (auto wait = dyn_cast<WaitOp>(op)) {
        end(wait);
      } else if (auto result = dyn_cast<ResultOp>(op)) {
        results.push_back(rootBuffer(result.getBuffer()));
      }
    }
    for (BufferOp buffer : results)
      if (auto found = known.find(buffer); found != known.end())
        lives[found->second].last = launches.size() - 1;
    for (Life &life : lives)
      if (auto found = firstCopy.find(life.buffer); found != firstCopy.end())
        life.first = std::min(life.first, found->second);
  }

  ArrayRef<LaunchOp> getLaunches() const { return launches; }
  ArrayRef<Life> get() const { return lives; }

private:
  void use(Value value, LaunchOp launch, std::optional<unsigned> output = {}) {
    BufferOp buffer = rootBuffer(value);
    int64_t now = launches.size() - 1, begin = buffer.getOffset();
    std::optional<Purpose> purpose = buffer.getPurpose();
    if (!purpose && begin < stateEnd)
      return;
    auto [entry, isNew] = known.try_emplace(buffer, lives.size());
    if (isNew)
      lives.push_back(
          {buffer, begin,
           begin + aligned(extentBytes(cast<MemRefType>(buffer.getType()))),
           now, now, categoryOf(purpose.value_or(Purpose::temporaries)), launch,
           output});
    lives[entry->second].last = now;
  }

  /// What is copied up has memory from the launch that runs beside on.
  void begin(CopyOp copy) {
    if (copy.getDirection() == Direction::up)
      firstCopy.try_emplace(rootBuffer(copy.getBuffer()), launches.size());
  }

  /// What is copied down has memory up to the wait.
  void end(WaitOp wait) {
    for (CopyOp copy : copies)
      if (copy.getToken() == wait.getToken())
        if (auto found = known.find(rootBuffer(copy.getBuffer()));
            found != known.end())
          lives[found->second].last = launches.size() - 1;
  }

  int64_t stateEnd;
  SmallVector<LaunchOp> launches;
  SmallVector<CopyOp> copies;
  DenseMap<Operation *, int64_t> firstCopy; ///< up into a buffer
  SmallVector<BufferOp> results;
  SmallVector<Life> lives;
  DenseMap<Operation *, size_t> known;
};

/// Runs through the launches of a function and knows which buffer each byte
/// belongs to: the latest that claimed it.
class Sweep {
public:
  Sweep(ArrayRef<Life> lives, size_t launches)
      : lives(lives), starting(launches), ending(launches) {
    for (auto [index, life] : llvm::enumerate(lives)) {
      starting[life.first].push_back(index);
      ending[life.last].push_back(index);
    }
  }

  /// Goes on to the next launch, which begins what it uses first.
  void enter(size_t launch) {
    for (size_t life : starting[launch])
      claim(lives[life].begin, lives[life].end, life);
  }
  /// Ends what the launch uses last.
  void leave(size_t launch) {
    for (size_t life : ending[launch])
      release(life);
  }

  const MemoryBytes &getLive() const { return live; }
  /// Bytes by life, in the order of lives.
  std::map<size_t, int64_t> getOwned() const {
    std::map<size_t, int64_t> owned;
    for (auto [begin, owner] : owners)
      owned[owner.life] += owner.end - begin;
    return owned;
  }

private:
  struct Owner {
    int64_t end;
    size_t life;
  };

  void add(int64_t begin, int64_t end, size_t life) {
    if (begin >= end)
      return;
    owners[begin] = {end, life};
    live[lives[life].category] += end - begin;
  }

  void claim(int64_t begin, int64_t end, size_t life) {
    auto next = owners.upper_bound(begin);
    if (next != owners.begin() && std::prev(next)->second.end > begin)
      --next;
    while (next != owners.end() && next->first < end) {
      auto [oldBegin, old] = *next;
      next = owners.erase(next);
      live[lives[old.life].category] -= old.end - oldBegin;
      add(oldBegin, std::min(begin, old.end), old.life);
      add(std::max(end, oldBegin), old.end, old.life);
    }
    add(begin, end, life);
  }

  void release(size_t life) {
    auto next = owners.lower_bound(lives[life].begin);
    while (next != owners.end() && next->first < lives[life].end) {
      if (next->second.life != life) {
        ++next;
        continue;
      }
      live[lives[life].category] -= next->second.end - next->first;
      next = owners.erase(next);
    }
  }

  ArrayRef<Life> lives;
  std::vector<SmallVector<size_t>> starting, ending;
  std::map<int64_t, Owner> owners; // by first byte
  MemoryBytes live;
};
} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

MemoryTimeline::MemoryTimeline(ProgramOp program)
    : program(program), arena(program.getArena()) {
  for (auto argument : program.getOps<ArgumentOp>()) {
    if (argument.getHost())
      continue;
    int64_t end = aligned(argument.getEnd());
    state[categoryOfState(argument.getKind())] += end - argument.getOffset();
    stateEnd = std::max(stateEnd, end);
  }
  for (auto function : program.getOps<FunctionOp>()) {
    Lives lives(function, stateEnd);
    Sweep sweep(lives.get(), lives.getLaunches().size());
    for (auto [index, launch] : llvm::enumerate(lives.getLaunches())) {
      sweep.enter(index);
      MemoryBytes live = state;
      for (auto [sum, bytes] :
           llvm::zip(live.byCategory, sweep.getLive().byCategory))
        sum += bytes;
      all.push_back({function, launch, live});
      sweep.leave(index);
    }
  }
}

std::optional<size_t> MemoryTimeline::fullest() const {
  if (all.empty())
    return std::nullopt;
  const auto *fullest = std::max_element(
      all.begin(), all.end(), [](const MemoryPoint &a, const MemoryPoint &b) {
        return a.live.total() < b.live.total();
      });
  return fullest - all.begin();
}

const MemoryBytes &MemoryTimeline::peakBytes() const {
  std::optional<size_t> index = fullest();
  return index ? all[*index].live : state;
}

/// "h.3.mlp.weight" as "h.*.mlp.weight".
static std::string withoutNumbers(StringRef name) {
  SmallVector<StringRef> words;
  name.split(words, '.');
  for (StringRef &word : words)
    if (!word.empty() && llvm::all_of(word, llvm::isDigit))
      word = "*";
  return llvm::join(words, ".");
}

/// The shape of what lies in `buffer`: that of a concatenation is seen through
/// a view of the whole.
static RankedTensorType tensorIn(BufferOp buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  for (Operation *user : buffer->getUsers())
    if (auto view = dyn_cast<ViewOp>(user);
        view && view.getOffset() == 0 && type.getRank() == 1) {
      auto seen = cast<MemRefType>(view.getType());
      if (seen.getNumElements() == type.getNumElements()) {
        type = seen;
        break;
      }
    }
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

static LiveTensors describe(const Life &life) {
  LiveTensors tensors;
  tensors.category = life.category;
  tensors.type = tensorIn(life.buffer);
  LaunchOp launch = life.launch;
  Location place = launch.getLoc();
  if (!life.output) {
    tensors.name = stringifyKernelFamily(launch.getFamily()).str();
  } else {
    Operation *yield = launch.getBodyBlock().getTerminator();
    Operation *maker = yield->getOperand(*life.output).getDefiningOp();
    tensors.name = maker ? maker->getName().stripDialect().str() : "copy";
    if (maker && !describeLocation(maker->getLoc()).empty())
      place = maker->getLoc();
  }
  tensors.location = describeLocation(place);
  return tensors;
}

namespace {
/// Counts tensors that are alike together.
class Tally {
public:
  void add(LiveTensors one, int64_t bytes) {
    auto [entry, isNew] = known.try_emplace(
        {one.category, one.name, one.location, one.type.getAsOpaquePointer()},
        rows.size());
    if (isNew)
      rows.push_back(std::move(one));
    LiveTensors &row = rows[entry->second];
    ++row.count;
    row.bytes += bytes;
  }

  SmallVector<LiveTensors> take() {
    llvm::sort(rows, [](const LiveTensors &a, const LiveTensors &b) {
      return std::tie(b.bytes, a.category, a.name, a.location, a.count) <
             std::tie(a.bytes, b.category, b.name, b.location, b.count);
    });
    return std::move(rows);
  }

private:
  using Key =
      std::tuple<MemoryCategory, std::string, std::string, const void *>;
  std::map<Key, size_t> known;
  SmallVector<LiveTensors> rows; // as they came
};
} // namespace

SmallVector<LiveTensors> MemoryTimeline::tensorsAtPeak() const {
  Tally tally;
  for (auto argument : ProgramOp(program).getOps<ArgumentOp>()) {
    if (argument.getHost())
      continue;
    LiveTensors one;
    one.category = categoryOfState(argument.getKind());
    one.name = withoutNumbers(argument.getFqn());
    one.type = cast<RankedTensorType>(argument.getType());
    tally.add(one, aligned(argument.getEnd()) - argument.getOffset());
  }
  std::optional<size_t> index = fullest();
  if (!index)
    return tally.take();
  MemoryPoint point = all[*index];
  Lives lives(point.function, stateEnd);
  Sweep sweep(lives.get(), lives.getLaunches().size());
  for (auto [launch, op] : llvm::enumerate(lives.getLaunches())) {
    sweep.enter(launch);
    if (op == point.launch)
      break;
    sweep.leave(launch);
  }
  for (auto [life, bytes] : sweep.getOwned())
    tally.add(describe(lives.get()[life]), bytes);
  return tally.take();
}
