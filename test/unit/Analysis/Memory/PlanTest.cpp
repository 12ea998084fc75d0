//===- PlanTest.cpp - Packing buffers by lifetime -------------------------===//

#include "hone/Analysis/Memory/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cstdint>
#include <random>

using namespace hone;

namespace {
constexpr int64_t alignment = 64;
using Requests = llvm::SmallVector<BufferRequest>;

bool liveTogether(const BufferRequest &a, const BufferRequest &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// What every packing promises.
void expectSound(const Requests &requests, const Packing &packing,
                 int64_t alignment = ::alignment) {
  ASSERT_EQ(packing.offsets.size(), requests.size());
  for (size_t a = 0; a != requests.size(); ++a) {
    int64_t end = packing.offsets[a] + requests[a].bytes;
    EXPECT_EQ(packing.offsets[a] % alignment, 0);
    EXPECT_LE(end, packing.bytes);
    for (size_t b = 0; b != a; ++b)
      if (liveTogether(requests[a], requests[b]) && requests[a].bytes > 0 &&
          requests[b].bytes > 0)
        EXPECT_TRUE(end <= packing.offsets[b] ||
                    packing.offsets[b] + requests[b].bytes <=
                        packing.offsets[a])
            << "buffers " << b << " and " << a;
  }
  EXPECT_GE(packing.lowerBound, peakLiveBytes(requests, alignment));
  EXPECT_GE(packing.bytes, packing.lowerBound);
}

/// Whether the requests from `next` on fit below `height` beside those that
/// have an offset, by trying every offset.
bool fits(const Requests &requests, int64_t height,
          llvm::SmallVectorImpl<int64_t> &offsets) {
  size_t next = offsets.size();
  if (next == requests.size())
    return true;
  const BufferRequest &own = requests[next];
  int64_t lastOffset = own.bytes == 0 ? 0 : height - own.bytes;
  for (int64_t offset = 0; offset <= lastOffset; ++offset) {
    bool isFree = true;
    for (size_t other = 0; own.bytes != 0 && other != next; ++other)
      isFree &= !liveTogether(own, requests[other]) ||
                offset + own.bytes <= offsets[other] ||
                offsets[other] + requests[other].bytes <= offset;
    if (!isFree)
      continue;
    offsets.push_back(offset);
    if (fits(requests, height, offsets))
      return true;
    offsets.pop_back();
  }
  return false;
}

/// The fewest bytes of all packings, by exhaustion.
int64_t bestOfAll(const Requests &requests) {
  for (int64_t height = peakLiveBytes(requests, 1);; ++height) {
    llvm::SmallVector<int64_t> offsets;
    if (fits(requests, height, offsets))
      return height;
  }
}

/// Buffers which take exactly `height` bytes at every position: whatever dies
/// makes place for as many bytes in other sizes. Some do not fit into that.
Requests tightRequests(unsigned seed, int64_t height, int64_t positions) {
  std::mt19937 random(seed);
  auto below = [&](int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  };
  Requests requests;
  llvm::SmallVector<size_t> live;
  for (int64_t position = 0; position != positions; ++position) {
    int64_t room = position == 0 ? height : 0;
    llvm::erase_if(live, [&](size_t index) {
      bool dies = below(3) == 0;
      room += dies ? requests[index].bytes : 0;
      return dies;
    });
    for (size_t index : live)
      requests[index].last = position;
    while (room != 0) {
      int64_t bytes = std::min(room, 1 + below(6));
      live.push_back(requests.size());
      requests.push_back({bytes, position, position});
      room -= bytes;
    }
  }
  return requests;
}

Requests randomRequests(unsigned seed, int64_t count, int64_t positions,
                        int64_t bytes = 5000) {
  std::mt19937 random(seed);
  auto below = [&](int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  };
  Requests requests;
  for (int64_t index = 0; index != count; ++index) {
    int64_t first = below(positions);
    int64_t last = std::min(positions - 1, first + below(1 + positions / 4));
    requests.push_back({below(8) == 0 ? 0 : 1 + below(bytes), first, last});
  }
  return requests;
}

TEST(MemoryPlan, RandomBuffersNeverOverlapWhileLive) {
  for (unsigned seed = 0; seed != 200; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 1 + seed % 60, 40);
    expectSound(requests, packBuffers(requests, alignment));
  }
}

TEST(MemoryPlan, FewBuffersArePackedBest) {
  for (unsigned seed = 0; seed != 300; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 1 + seed % 8, 4 + seed % 5, 9);
    Packing packing = packBuffers(requests, 1, {0, 1'000'000});
    expectSound(requests, packing, 1);
    EXPECT_EQ(packing.bytes, bestOfAll(requests));
  }
}

TEST(MemoryPlan, TightBuffersArePackedBest) {
  int numAboveBound = 0, numSearched = 0;
  for (unsigned seed = 0; seed != 300; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = tightRequests(seed, 12, 9);
    Packing packing = packBuffers(requests, 1, {0, 1'000'000});
    expectSound(requests, packing, 1);
    EXPECT_EQ(packing.bytes, bestOfAll(requests));
    // What was ruled out is known, too.
    EXPECT_EQ(packing.bytes, packing.lowerBound);
    numAboveBound += packing.bytes > peakLiveBytes(requests, 1);
    numSearched += packing.nodes != 0;
  }
  EXPECT_GT(numAboveBound, 0);
  EXPECT_GT(numSearched, 0);
}

TEST(MemoryPlan, SearchFindsWhatNoOrderDoes) {
  Requests cases[] = {{{9, 0, 1},
                       {1, 0, 1},
                       {7, 0, 2},
                       {3, 3, 4},
                       {8, 2, 3},
                       {4, 2, 4},
                       {6, 1, 3}},
                      {{6, 1, 1},
                       {8, 2, 4},
                       {5, 4, 5},
                       {9, 3, 5},
                       {8, 5, 5},
                       {7, 2, 2},
                       {6, 0, 2}},
                      {{1, 4, 8},
                       {7, 1, 6},
                       {5, 3, 4},
                       {2, 7, 9},
                       {6, 6, 7},
                       {1, 10, 11},
                       {9, 8, 11}}};
  for (const Requests &requests : cases) {
    int64_t best = bestOfAll(requests);
    EXPECT_GT(packBuffers(requests, 1, {0, 0}).bytes, best);
    Packing packing = packBuffers(requests, 1);
    expectSound(requests, packing, 1);
    EXPECT_EQ(packing.bytes, best);
  }
}

TEST(MemoryPlan, SearchIsSoundAndBounded) {
  int numBetter = 0;
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 30 + 5 * seed, 60, 200);
    Packing greedy = packBuffers(requests, 1, {0, 0});
    Packing searched = packBuffers(requests, 1, {0, 1000});
    expectSound(requests, searched, 1);
    EXPECT_EQ(greedy.nodes, 0);
    EXPECT_LE(searched.nodes, 1000);
    EXPECT_LE(searched.bytes, greedy.bytes);
    numBetter += searched.bytes < greedy.bytes;
  }
  EXPECT_GT(numBetter, 0);
}

TEST(MemoryPlan, SaysWhatLimitStoppedIt) {
  int numNodes = 0, numPairs = 0, numScanned = 0;
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 30 + 5 * seed, 60, 200);
    PackingLimits limits;
    limits.maxNodes = 1000;
    Packing searched = packBuffers(requests, 1, limits);
    // What nothing stopped is the best there is.
    EXPECT_EQ(searched.metNodes, searched.bytes > searched.lowerBound);
    EXPECT_FALSE(searched.metPairs || searched.metScanned);
    numNodes += searched.metNodes;

    limits.maxPairs = 10;
    Packing greedy = packBuffers(requests, 1, limits);
    expectSound(requests, greedy, 1);
    EXPECT_EQ(greedy.offsets, packBuffers(requests, 1, {0, 0}).offsets);
    EXPECT_EQ(greedy.metPairs, greedy.bytes > greedy.lowerBound);
    EXPECT_FALSE(greedy.metNodes || greedy.metScanned);
    numPairs += greedy.metPairs;

    limits.maxNodes = 0;
    limits.maxScanned = 0;
    Packing single = packBuffers(requests, 1, limits);
    expectSound(requests, single, 1);
    EXPECT_GE(single.bytes, greedy.bytes);
    EXPECT_EQ(single.metScanned, single.bytes > single.lowerBound);
    EXPECT_FALSE(single.metNodes || single.metPairs);
    numScanned += single.metScanned;
  }
  EXPECT_GT(numNodes, 0);
  EXPECT_GT(numPairs, 0);
  EXPECT_GT(numScanned, 0);
}

TEST(MemoryPlan, TargetIsGoodEnough) {
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 100, 60, 200);
    Packing greedy = packBuffers(requests, 1, {0, 0});
    Packing packing = packBuffers(requests, 1, {greedy.bytes, 1000});
    EXPECT_EQ(packing.nodes, 0);
    EXPECT_LE(packing.bytes, greedy.bytes);
  }
}

// What lives alone need not be packed tighter than what lives at another time.
TEST(MemoryPlan, OnlyTheFullestPartIsSearched) {
  bool sawSearch = false;
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 60, 60, 200);
    sawSearch |= packBuffers(requests, 1, {0, 100}).nodes != 0;
    requests.push_back({100'000, 70, 70});
    Packing packing = packBuffers(requests, 1, {0, 100});
    expectSound(requests, packing, 1);
    EXPECT_EQ(packing.bytes, 100'000);
    EXPECT_EQ(packing.nodes, 0);
  }
  EXPECT_TRUE(sawSearch);
}

TEST(MemoryPlan, SameRequestsGiveTheSameOffsets) {
  Requests requests = randomRequests(7, 300, 100);
  Packing first = packBuffers(requests, alignment);
  Packing second = packBuffers(requests, alignment);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_EQ(first.nodes, second.nodes);
}

// The shape of a training step: what forward saves dies in reverse order.
TEST(MemoryPlan, ThousandsOfNestedLifetimesReachTheBound) {
  Requests requests;
  constexpr int64_t layers = 500;
  for (int64_t layer = 0; layer != layers; ++layer) {
    int64_t forward = 4 * layer, backward = 8 * layers - 4 * layer;
    for (int64_t step = 0; step != 3; ++step)
      requests.push_back({1000 << step, forward + step, backward - step});
    requests.push_back({7000, forward, forward + 2});
    requests.push_back({9000, backward - 2, backward + 1});
  }
  Packing packing = packBuffers(requests, alignment);
  expectSound(requests, packing);
  EXPECT_EQ(packing.bytes, packing.lowerBound);
}

TEST(MemoryPlan, LifetimesOfOnePosition) {
  Requests apart, together;
  for (int64_t index = 0; index != 50; ++index) {
    apart.push_back({64 + 64 * index, index, index});
    together.push_back({64 + 64 * index, 3, 3});
  }
  EXPECT_EQ(packBuffers(apart, alignment).bytes, 64 * 50);
  EXPECT_EQ(packBuffers(together, alignment).bytes, 64 * 50 * 51 / 2);
  expectSound(together, packBuffers(together, alignment));
}

TEST(MemoryPlan, HugeSizesDoNotWrap) {
  constexpr int64_t huge = int64_t(1) << 62;
  Requests apart = {{huge, 0, 0}, {huge, 1, 1}, {huge, 2, 2}};
  EXPECT_EQ(packBuffers(apart, alignment).bytes, huge);
  Requests together = {{huge, 0, 0}, {huge, 0, 1}};
  EXPECT_EQ(packBuffers(together, alignment).bytes, INT64_MAX);
  EXPECT_EQ(peakLiveBytes(together, alignment), INT64_MAX);
  // No more bytes than there are, but no multiple of the alignment.
  EXPECT_EQ(packBuffers(Requests{{INT64_MAX - 1, 0, 0}}, alignment).bytes,
            INT64_MAX);
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    Requests requests = randomRequests(seed, 12, 10, int64_t(1) << 60);
    Packing packing = packBuffers(requests, alignment, {0, 1000});
    EXPECT_GE(packing.bytes, peakLiveBytes(requests, alignment));
    if (packing.bytes != INT64_MAX)
      expectSound(requests, packing);
  }
}

TEST(MemoryPlan, NoRequestsNeedNothing) {
  Packing packing = packBuffers({}, alignment);
  EXPECT_EQ(packing.bytes, 0);
  EXPECT_EQ(peakLiveBytes({}, alignment), 0);
}

TEST(MemoryPlan, EmptyBuffersTakeNoMemory) {
  Requests requests = {{0, 0, 9}, {100, 2, 3}, {0, 2, 3}};
  Packing packing = packBuffers(requests, alignment);
  expectSound(requests, packing);
  EXPECT_EQ(packing.bytes, 128);
}

TEST(MemoryPlan, DisjointLifetimesShareBytes) {
  Requests requests = {{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}};
  Packing packing = packBuffers(requests, alignment);
  EXPECT_EQ(packing.offsets, (llvm::SmallVector<int64_t>{0, 0, 0}));
  EXPECT_EQ(packing.bytes, 1024);
}

// A buffer read by the launch that writes another lives at the same position.
TEST(MemoryPlan, LifetimesThatTouchDoNotShare) {
  Requests requests = {{64, 0, 1}, {64, 1, 2}};
  EXPECT_EQ(packBuffers(requests, alignment).bytes, 128);
  EXPECT_EQ(peakLiveBytes(requests, alignment), 128);
}

TEST(MemoryPlan, GapBetweenNeighboursIsFilled) {
  // The largest buffer lies lowest and is dead when the smallest lives, which
  // then lies below the second.
  Requests requests = {{256, 0, 1}, {128, 0, 3}, {64, 2, 3}};
  Packing packing = packBuffers(requests, alignment);
  EXPECT_EQ(packing.offsets, (llvm::SmallVector<int64_t>{0, 256, 0}));
}

TEST(MemoryPlan, PeakCountsWhatIsLiveAtOnce) {
  Requests requests = {{100, 0, 2}, {60, 1, 1}, {64, 2, 4}, {640, 5, 5}};
  EXPECT_EQ(peakLiveBytes(requests, alignment), 640);
  EXPECT_EQ(peakLiveBytes(llvm::ArrayRef(requests).drop_back(), alignment),
            128 + 64);
}
} // namespace
