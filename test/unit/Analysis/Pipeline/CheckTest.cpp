//===- CheckTest.cpp - Which schedules are refused ------------------------===//

#include "Cases.h"

#include "Analysis/Pipeline/Replay.h"
#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/Text.h"

#include "gtest/gtest.h"

#include <set>

using namespace hone::pipeline;
using namespace hone::pipeline::test;
using llvm::StringRef;

namespace {

TEST(PipelineCheck, GeneratedSchedulesAreRight) {
  for (StringRef choice : allChoices())
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 2 * p + 3; ++m)
        for (int ahead : {0, 1, 3}) {
          Schedule schedule = make(choice, p, m, ahead);
          std::optional<Violation> found =
              checkSchedule(schedule, countWindows(schedule));
          EXPECT_FALSE(found) << describe(schedule) << ": " << found->message;
        }
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// Small schedules of every kind, one with a remainder.
std::vector<Schedule> mutated() {
  std::vector<Schedule> schedules;
  for (StringRef choice : choices)
    for (auto [p, m] : {std::make_pair(2, 3), std::make_pair(3, 7)})
      schedules.push_back(make(choice, p, m));
  return schedules;
}

void expectRule(const Schedule &schedule, Rule rule, int rank,
                const std::string &mutation,
                llvm::ArrayRef<ChunkWindows> windows = {}) {
  std::optional<Violation> found = checkSchedule(schedule, windows);
  ASSERT_TRUE(found) << describe(schedule) << ": accepted " << mutation;
  EXPECT_EQ(ruleName(found->rule).str(), ruleName(rule).str())
      << describe(schedule) << ": " << mutation << ": " << found->message;
  EXPECT_EQ(found->rank, rank) << mutation << ": " << found->message;
}

/// Calls `mutate(schedule, list, position)` on a copy for each action.
template <typename Mutate> int forEachAction(Mutate mutate) {
  int mutants = 0;
  for (const Schedule &original : mutated())
    for (int rank = 0; rank != original.shape.ranks; ++rank)
      for (size_t position = 0; position != original.ranks[rank].size();
           ++position) {
        Schedule mutant = original;
        mutants += mutate(mutant, rank, position);
      }
  return mutants;
}

TEST(PipelineCheck, RemovedActionsAreFound) {
  EXPECT_GT(forEachAction([](Schedule &mutant, int rank, size_t position) {
              std::vector<Action> &list = mutant.ranks[rank];
              std::string name = formatAction(list[position]);
              list.erase(list.begin() + position);
              expectRule(mutant, Rule::Once, rank, name + " removed");
              return 1;
            }),
            1000);
}

TEST(PipelineCheck, RepeatedActionsAreFound) {
  forEachAction([](Schedule &mutant, int rank, size_t position) {
    std::vector<Action> &list = mutant.ranks[rank];
    Action action = list[position];
    list.push_back(action);
    expectRule(mutant, Rule::Once, rank, formatAction(action) + " repeated");
    return 1;
  });
}

/// Whether `second` reads from `first`, both of one rank and next to each
/// other.
bool readsFrom(const Shape &shape, const Action &first, const Action &second) {
  if (first.micro != second.micro)
    return false;
  auto isTheTransfer = [](std::optional<Action> transfer, const Action &other) {
    return transfer && transfer->kind == other.kind &&
           transfer->chunk == other.chunk;
  };
  if (isTransfer(first.kind))
    return isTheTransfer(receiveBefore(shape, second), first);
  if (isTransfer(second.kind))
    return isTheTransfer(sendAfter(shape, first), second);
  if (second.kind == ActionKind::BackwardWeight)
    return first.kind == ActionKind::BackwardInput &&
           first.chunk == second.chunk;
  if (second.kind == ActionKind::Forward)
    return first.kind == ActionKind::Forward && first.chunk < second.chunk;
  return first.kind == ActionKind::Forward ||
         (computesInputGradient(first.kind) && first.chunk > second.chunk);
}

TEST(PipelineCheck, SwappedReadersAreFound) {
  int orders = forEachAction([](Schedule &mutant, int rank, size_t position) {
    std::vector<Action> &list = mutant.ranks[rank];
    if (position + 1 == list.size() ||
        !readsFrom(mutant.shape, list[position], list[position + 1]))
      return 0;
    std::swap(list[position], list[position + 1]);
    expectRule(mutant, Rule::Order, rank,
               formatAction(list[position]) + " swapped");
    return 1;
  });
  EXPECT_GT(orders, 300);
}

/// A receive may come earlier, and a sum of weight gradients later, without a
/// reader that misses it. They must not pass others of their chunk or channel.
TEST(PipelineCheck, OtherOrdersOfMicroBatchesAreFound) {
  int micros = 0, messages = 0;
  forEachAction([&](Schedule &mutant, int rank, size_t position) {
    std::vector<Action> &list = mutant.ranks[rank];
    Action action = list[position];
    bool isReceive = isTransfer(action.kind) && !isSend(action.kind);
    bool isLast =
        computesWeightGradient(action.kind) &&
        (action.kind == ActionKind::BackwardWeight || action.chunk == 0);
    auto next = std::find_if(
        list.begin() + position + 1, list.end(), [&](const Action &other) {
          return other.kind == action.kind &&
                 (isReceive ? other.channel == action.channel
                            : other.chunk == action.chunk);
        });
    if (next == list.end() || !(isReceive || isLast))
      return 0;
    bool isMessage = next->chunk != action.chunk;
    if (isReceive)
      std::rotate(list.begin() + position, next, next + 1);
    else
      std::rotate(list.begin() + position, list.begin() + position + 1,
                  next + 1);
    expectRule(mutant, isMessage ? Rule::Fifo : Rule::Micro, rank,
               formatAction(action) + " moved");
    ++(isMessage ? messages : micros);
    return 1;
  });
  EXPECT_GT(micros, 100);
  EXPECT_GT(messages, 10);
}

TEST(PipelineCheck, OtherChannelsAreFound) {
  int mutants = forEachAction([](Schedule &mutant, int rank, size_t position) {
    Action &action = mutant.ranks[rank][position];
    if (!isTransfer(action.kind))
      return 0;
    int right = action.channel;
    for (int other = -1; other <= int(mutant.channels.size()); ++other) {
      if (other == right)
        continue;
      action.channel = other;
      expectRule(mutant, Rule::Channel, rank,
                 formatAction(action) + " on channel " + std::to_string(other));
    }
    return 1;
  });
  EXPECT_GT(mutants, 500);
}

TEST(PipelineCheck, ActionsOfOtherRanksAreFound) {
  forEachAction([](Schedule &mutant, int rank, size_t position) {
    std::vector<Action> &list = mutant.ranks[rank];
    Action action = list[position];
    int other = (rank + 1) % mutant.shape.ranks;
    list.erase(list.begin() + position);
    mutant.ranks[other].push_back(action);
    expectRule(mutant, Rule::Shape, other, formatAction(action) + " moved");
    return 1;
  });
}

TEST(PipelineCheck, SmallerWindowsAreFound) {
  int mutants = 0;
  for (const Schedule &schedule : mutated()) {
    std::vector<ChunkWindows> windows = countWindows(schedule);
    for (int chunk = 0; chunk != schedule.shape.chunks(); ++chunk)
      for (int window = 0; window != windowClasses; ++window) {
        int &count = windows[chunk].counts[window], right = count;
        if (count == 0)
          continue;
        // Writers wait for sends: one buffer is right.
        count = waitsForSend(schedule.shape, chunk, WindowClass(window))
                    ? 0
                    : count - 1;
        expectRule(schedule, Rule::Window, schedule.shape.rankOf(chunk),
                   windowName(WindowClass(window)).str(), windows);
        count = right;
        ++mutants;
      }
  }
  EXPECT_GT(mutants, 100);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Schedule read(StringRef text) {
  return llvm::cantFail(readCsv(text, "list.csv"));
}

std::string messageOf(const Schedule &schedule,
                      llvm::ArrayRef<ChunkWindows> windows = {}) {
  std::optional<Violation> found = checkSchedule(schedule, windows);
  return found ? found->message : "";
}

TEST(PipelineCheck, MessagesNamePlaceAndExpectation) {
  EXPECT_EQ(messageOf(read("0F0,0F1,0B0,0B1,0B1")),
            "rank 0, position 4, 0B1: once: expected it once, found it at "
            "position 3 too");
  EXPECT_EQ(messageOf(read("0F0,0F1,0B0")),
            "rank 0, position 3, end: once: expected 0B1 (or its two parts I "
            "and W) on this rank, found it nowhere");
  EXPECT_EQ(messageOf(read("0F0,0B0,0I0,0W0")),
            "rank 0, position 2, 0I0: once: expected B, or I and W; found 0B0 "
            "at position 1 too");
  EXPECT_EQ(messageOf(read("0F0,0B0\n1F0,1B0")),
            "rank 0, position 2, end: once: expected 0SEND_F0 on this rank, "
            "found it nowhere");
  EXPECT_EQ(messageOf(read("0F0,0W0,0I0")),
            "rank 0, position 1, 0W0: data order: expected 0I0 before it, "
            "found it at position 2");
  EXPECT_EQ(messageOf(read("0F0,0F1,0B1,0B0")),
            "rank 0, position 3, 0B0: micro-batch order: expected a "
            "micro-batch above 1, which this chunk had before");
  EXPECT_EQ(messageOf(read("0F0,0RECV_F0,0B0")),
            "rank 0, position 1, 0RECV_F0: shape: expected no transfer: there "
            "is no chunk -1");
  Schedule schedule = make("1f1b", 2, 2);
  std::vector<ChunkWindows> windows = countWindows(schedule);
  windows[0][WindowClass::Saved] = 1;
  EXPECT_EQ(messageOf(schedule, windows),
            "rank 0, position 3, 0F1: window: expected a free buffer in the "
            "window 'saved' of chunk 0 with 1 buffers, found micro-batch 0 in "
            "it, which 0B0 at position 6 reads");
  schedule.ranks[0][1].channel = 1;
  EXPECT_EQ(messageOf(schedule),
            "rank 0, position 1, 0SEND_F0: channel: expected the channel from "
            "rank 0 to 1, activations; found that from rank 1 to 0, gradients");
}

/// Sums have one order, whether a micro-batch splits its backward pass or not.
TEST(PipelineCheck, SplitAndWholeBackwardMayMix) {
  EXPECT_EQ(messageOf(read("0F0,0F1,0F2,0B0,0I1,0W1,0B2")), "");
  EXPECT_EQ(messageOf(read("0F0,0F1,0I1,0B0,0W1")),
            "rank 0, position 3, 0B0: micro-batch order: expected a "
            "micro-batch above 1, which this chunk had before");
  EXPECT_EQ(messageOf(read("0F0,0F1,0I0,0B1,0W0")),
            "rank 0, position 4, 0W0: micro-batch order: expected a "
            "micro-batch above 1, which this chunk had before");
}

// A backward action may run beside another forward one, right behind it.
TEST(PipelineCheck, OverlapsAreOfIndependentActions) {
  EXPECT_EQ(messageOf(read("0F0,(0F1;0B0)OVERLAP_F_B,0B1")), "");
  EXPECT_EQ(messageOf(read("0F0,(0F1;0I0)OVERLAP_F_B,0W0,0I1,0W1")), "");
  const char *expected = ": overlap: expected a backward action of another "
                         "chunk or micro-batch right behind a forward one, "
                         "found ";
  EXPECT_EQ(messageOf(read("(0F0;0B0)OVERLAP_F_B,0F1,0B1")),
            "rank 0, position 0, 0F0" + (expected + std::string("0B0")));
  EXPECT_EQ(messageOf(read("0F0,(0F1;0F2)OVERLAP_F_B,0B0,0B1,0B2")),
            "rank 0, position 1, 0F1" + (expected + std::string("0F2")));
  EXPECT_EQ(messageOf(read("0F0,0F1,(0B0;0B1)OVERLAP_F_B")),
            "rank 0, position 2, 0B0" +
                (expected + std::string("it to overlap")));
  Schedule schedule = read("0F0,0B0");
  schedule.ranks[0].back().overlapsNext = true;
  schedule.ranks[0].back().kind = ActionKind::Forward;
  EXPECT_EQ(messageOf(schedule),
            "rank 0, position 1, 0F0" + (expected + std::string("the end")));
}

// Two actions that run together both wait: what a gradient needs of this rank
// must be sent before. So 1F1B has no such pairs on ranks but the last, unless
// more micro-batches are ahead.
TEST(PipelineCheck, OverlapsCanDeadlock) {
  Schedule schedule = generateSchedule({}, 3, 4);
  schedule.ranks[1][1].overlapsNext = true; // 1F1 beside 1B0
  EXPECT_EQ(messageOf(placeTransfers(schedule)), "");
  std::swap(schedule.ranks[2][1], schedule.ranks[2][2]); // 2F0,2F1,2B0
  schedule.ranks[2][1].overlapsNext = true;
  std::string message = messageOf(placeTransfers(schedule));
  EXPECT_TRUE(StringRef(message).contains("deadlock")) << message;
}

// Rank 0 wants its first gradient before it sends what rank 1 needs for it.
TEST(PipelineCheck, DeadlocksNameTheCircle) {
  Schedule schedule =
      read("0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,0B1\n"
           "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1");
  EXPECT_EQ(
      messageOf(schedule),
      "rank 0, position 3, 0B0: deadlock: rank 0 waits at position 3, 0B0, for "
      "0RECV_B0, which needs 1SEND_B0 of rank 1 at position 5; rank 1 waits at "
      "position 3, 1F1, for 1RECV_F1, which needs 0SEND_F1 of rank 0 at "
      "position 5");
}

// Why the first group of an interleaved schedule has the remainder: with a last
// group of one micro-batch, ranks wait for each other in a circle.
TEST(PipelineCheck, ShortLastGroupsDeadlock) {
  const int p = 4, v = 3, m = 5, total = m * v;
  std::vector<std::pair<int, int>> order; // chunk of a rank, micro-batch
  for (int begin = 0; begin < m; begin += p)
    for (int index = 0; index != v; ++index)
      for (int micro = begin; micro != std::min(begin + p, m); ++micro)
        order.push_back({index, micro});
  Schedule schedule = generateSchedule({ScheduleKind::Interleaved, v}, p, m);
  for (int rank = 0; rank != p; ++rank) {
    std::vector<Action> &list = schedule.ranks[rank];
    list.clear();
    int ahead = 2 * (p - rank - 1) + (v - 1) * p;
    for (int step = 0; step < total + ahead; ++step) {
      if (step < total)
        list.push_back({ActionKind::Forward,
                        schedule.shape.chunkOf(rank, order[step].first),
                        order[step].second});
      if (auto [index, micro] = order[std::max(step - ahead, 0)]; step >= ahead)
        list.push_back({ActionKind::Backward,
                        schedule.shape.chunkOf(rank, v - 1 - index), micro});
    }
  }
  std::optional<Violation> found =
      checkSchedule(placeTransfers(std::move(schedule)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rule, Rule::Deadlock) << found->message;
}

// The first group of an interleaved schedule may have more micro-batches than
// ranks. The last rank then makes activations long before rank 0 reads them.
TEST(PipelineCheck, FullWindowsCanDeadlock) {
  Schedule schedule = make("interleaved=2", 4, 11);
  std::vector<ChunkWindows> windows = countWindows(schedule);
  EXPECT_EQ(windows[3][WindowClass::ActivationOut], 4);
  EXPECT_EQ(messageOf(schedule, windows), "");
  windows[3][WindowClass::ActivationOut] = 1;
  windows[4][WindowClass::GradientOut] = 1;
  EXPECT_EQ(
      messageOf(schedule, windows),
      "rank 0, position 51, 4B3: deadlock: rank 0 waits at position 51, 4B3, "
      "for 4SEND_B2, which needs 3RECV_B2 of rank 3 at position 62; rank 3 "
      "waits at position 57, 3F8, for 3SEND_F7, which needs 4RECV_F7 of rank 0 "
      "at position 56");
}

// Where a send comes late, its buffer is needed until then.
TEST(PipelineCheck, LateSendsNeedBuffers) {
  Schedule schedule =
      read("0F0,0F1,0SEND_F0,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
           "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1");
  std::vector<ChunkWindows> windows = countWindows(schedule);
  EXPECT_EQ(windows[0][WindowClass::ActivationOut], 2);
  EXPECT_EQ(messageOf(schedule, windows), "");
  windows[0][WindowClass::ActivationOut] = 1;
  EXPECT_EQ(messageOf(schedule, windows),
            "rank 0, position 1, 0F1: window: expected a free buffer in the "
            "window 'activation out' of chunk 0 with 1 buffers, found "
            "micro-batch 0 in it, which 0SEND_F0 at position 2 reads");
}

//===----------------------------------------------------------------------===//
// Layouts of channels
//===----------------------------------------------------------------------===//

bool isGradient(const Action &transfer) {
  return transfer.kind == ActionKind::SendGradient ||
         transfer.kind == ActionKind::RecvGradient;
}

/// A layout of a rank's transfers into queues. All but the last, which is ours,
/// let ranks wait for each other in a circle.
struct Layout {
  const char *name;
  int (*queueOf)(const Schedule &schedule, int rank, const Action &transfer);
  /// Lists of 20 that deadlock, with receives `ahead` 0 and 1: GPipe, 1F1B,
  /// ZB-H1, interleaved by 2 and by 3, ZB-V.
  int deadlocks[2][6];
};

const Layout layouts[] = {
    {"one per rank",
     [](const Schedule &, int, const Action &) { return 0; },
     {{0, 20, 20, 20, 20, 20}, {20, 20, 20, 20, 20, 20}}},
    {"per payload",
     [](const Schedule &, int, const Action &transfer) {
       return int(isGradient(transfer));
     },
     {{0, 0, 0, 20, 20, 20}, {0, 0, 0, 20, 20, 20}}},
    {"per payload and direction",
     [](const Schedule &, int, const Action &transfer) {
       return int(transfer.kind);
     },
     {{0, 0, 0, 0, 0, 9}, {0, 0, 0, 0, 0, 9}}},
    {"per ordered pair of ranks",
     [](const Schedule &schedule, int rank, const Action &transfer) {
       int other = schedule.shape.rankOf(otherEnd(transfer).chunk);
       return isSend(transfer.kind) ? rank * schedule.shape.ranks + other
                                    : other * schedule.shape.ranks + rank;
     },
     {{0, 0, 0, 0, 0, 15}, {0, 0, 0, 0, 0, 15}}},
    {"per ordered pair of ranks and payload",
     [](const Schedule &, int, const Action &transfer) {
       return transfer.channel;
     },
     {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}}},
};

TEST(PipelineCheck, OnlyChannelsByPairAndPayloadAreFree) {
  const StringRef kinds[] = {"gpipe",         "1f1b",          "zb-h1",
                             "interleaved=2", "interleaved=3", "zb-v"};
  for (const Layout &layout : layouts)
    for (int ahead : {0, 1})
      for (auto [kind, expected] : llvm::zip(kinds, layout.deadlocks[ahead])) {
        int deadlocks = 0;
        for (int p : {2, 3, 4, 6, 8})
          for (int m : {p, 2 * p, 3 * p, 4 * p}) {
            Schedule schedule = make(kind, p, m, ahead);
            Replay replay(schedule, nullptr, {},
                          [&](int rank, const Action &transfer) {
                            return layout.queueOf(schedule, rank, transfer);
                          });
            deadlocks += !replay.ended();
          }
        EXPECT_EQ(deadlocks, expected)
            << layout.name << ", " << kind.str() << ", ahead " << ahead;
      }
}

// A rank has two neighbours, with each four channels at most; lists use all.
TEST(PipelineCheck, ChannelsAreFew) {
  for (StringRef choice : choices)
    for (int p : {2, 5}) {
      Schedule schedule = make(choice, p, 3);
      for (int rank = 0; rank != p; ++rank) {
        int used = llvm::count_if(schedule.channels, [&](const Channel &each) {
          return each.source == rank || each.destination == rank;
        });
        EXPECT_LE(used, 8);
      }
      std::set<int> numbers;
      for (const std::vector<Action> &list : schedule.ranks)
        for (const Action &action : list)
          if (isTransfer(action.kind))
            numbers.insert(action.channel);
      EXPECT_EQ(numbers.size(), schedule.channels.size());
    }
}

} // namespace
