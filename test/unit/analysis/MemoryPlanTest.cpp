//===- MemoryPlanTest.cpp - Packing buffers by lifetime -------------------===//

#include "hone/Analysis/MemoryPlan.h"

#include "gtest/gtest.h"

#include <random>

using namespace hone;

namespace {
constexpr int64_t alignment = 64;
using Requests = llvm::SmallVector<BufferRequest>;

bool liveTogether(const BufferRequest &a, const BufferRequest &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// What every packing promises.
void expectSound(const Requests &requests, const Packing &packing) {
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
  EXPECT_GE(packing.bytes, peakLiveBytes(requests, alignment));
}

Requests randomRequests(unsigned seed, int64_t count, int64_t positions) {
  std::mt19937 random(seed);
  auto below = [&](int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  };
  Requests requests;
  for (int64_t index = 0; index != count; ++index) {
    int64_t first = below(positions);
    int64_t last = std::min(positions - 1, first + below(1 + positions / 4));
    requests.push_back({below(8) == 0 ? 0 : 1 + below(5000), first, last});
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

TEST(MemoryPlan, SameRequestsGiveTheSameOffsets) {
  Requests requests = randomRequests(7, 300, 100);
  Packing first = packBuffers(requests, alignment);
  Packing second = packBuffers(requests, alignment);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.bytes, second.bytes);
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
