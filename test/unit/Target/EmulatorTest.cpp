//===- EmulatorTest.cpp - The emulator alone ------------------------------===//
//
// Kernels in C++, as the compiler would call the emulator.
//
//===----------------------------------------------------------------------===//

#include "honert/emulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {
using Kernel = void (*)(void **);

/// Runs `kernel` on one parameter.
std::string run(Kernel kernel, int64_t blocks, int64_t threads, void *parameter,
                uint64_t seed = 0, std::vector<honemu_segment> shared = {},
                std::vector<honemu_segment> memory = {}) {
  honemu_kernel row = {"k", kernel, 0, int64_t(shared.size()), shared.data()};
  honemu_image image = {1, &row, 0, nullptr};
  honemu_emulator *emulator = honemu_create(&image);
  for (const honemu_segment &segment : memory)
    honemu_add_memory(emulator, segment.address, segment.bytes);
  void *args[] = {&parameter};
  honemu_options options = {seed, /*global_races=*/1, /*inexact=*/0,
                            /*faults=*/0};
  char message[256] = "";
  int code = honemu_run(emulator, "k", blocks, threads, args, &options, message,
                        sizeof message);
  EXPECT_EQ(code != 0, message[0] != '\0');
  honemu_destroy(emulator);
  return message;
}

template <typename T> T *parameterOf(void **args) {
  return *static_cast<T **>(args[0]);
}
int tid() { return honemu_read_ptx_sreg_tid_x(); }

/// What each of `threads` threads gets of its neighbours' numbers.
template <int32_t (*shuffle)(int32_t, int32_t, int32_t, int32_t), int distance,
          int clamp>
std::vector<int> shuffled(int threads = 32) {
  std::vector<int> out(threads, -1);
  EXPECT_EQ(run(
                [](void **args) {
                  parameterOf<int>(args)[tid()] =
                      shuffle(-1, 100 + tid(), distance, clamp);
                },
                1, threads, out.data()),
            "");
  return out;
}
} // namespace

//===----------------------------------------------------------------------===//
// Shuffles, by the text of PTX
//===----------------------------------------------------------------------===//

TEST(Shuffles, TakeLanesByDistance) {
  std::vector<int> bfly = shuffled<honemu_shfl_sync_bfly_i32, 5, 31>();
  std::vector<int> down = shuffled<honemu_shfl_sync_down_i32, 3, 31>();
  std::vector<int> up = shuffled<honemu_shfl_sync_up_i32, 3, 0>();
  std::vector<int> idx = shuffled<honemu_shfl_sync_idx_i32, 7, 31>();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(bfly[lane], 100 + (lane ^ 5));
    EXPECT_EQ(down[lane], 100 + (lane + 3 < 32 ? lane + 3 : lane));
    EXPECT_EQ(up[lane], 100 + (lane >= 3 ? lane - 3 : lane));
    EXPECT_EQ(idx[lane], 107);
  }
}

/// Segments of eight lanes: mask 0b11000 and a clamp of 7 (0 upwards).
TEST(Shuffles, StayInTheirSegment) {
  constexpr int segments = 24 << 8;
  std::vector<int> down =
      shuffled<honemu_shfl_sync_down_i32, 3, segments | 7>();
  std::vector<int> up = shuffled<honemu_shfl_sync_up_i32, 3, segments>();
  std::vector<int> idx = shuffled<honemu_shfl_sync_idx_i32, 2, segments | 7>();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(down[lane], 100 + (lane % 8 < 5 ? lane + 3 : lane));
    EXPECT_EQ(up[lane], 100 + (lane % 8 >= 3 ? lane - 3 : lane));
    EXPECT_EQ(idx[lane], 100 + lane / 8 * 8 + 2);
  }
}

TEST(Shuffles, ReadNoLaneThatIsMissing) {
  std::vector<int> out(20);
  auto kernel = [](void **args) {
    parameterOf<int>(args)[tid()] = honemu_shfl_sync_bfly_i32(-1, 1, 16, 31);
  };
  EXPECT_EQ(run(kernel, 1, 20, out.data()),
            "kernel 'k', block 0, thread 4: shuffle reads lane 20, which the "
            "block does not have");
  auto ended = [](void **) {
    if (tid() != 1)
      honemu_shfl_sync_bfly_i32(-1, 1, 1, 31);
  };
  EXPECT_EQ(run(ended, 1, 32, nullptr),
            "kernel 'k', block 0, thread 0: shuffle reads lane 1, which has "
            "ended");
}

TEST(Shuffles, WaitForNobodyElsewhere) {
  auto atBarrier = [](void **) {
    if (tid() == 9)
      honemu_barrier0();
    honemu_shfl_sync_bfly_i32(-1, 1, 1, 31);
  };
  EXPECT_EQ(
      run(atBarrier, 1, 32, nullptr),
      "kernel 'k', block 0, thread 0: shuffle of members 0xffffffff waits "
      "for lane 9, which waits at a barrier");
  auto ofAnotherKind = [](void **) {
    if (tid() < 16)
      honemu_shfl_sync_bfly_i32(-1, 1, 1, 31);
    else
      honemu_shfl_sync_down_i32(-1, 1, 1, 31);
  };
  EXPECT_EQ(
      run(ofAnotherKind, 1, 32, nullptr),
      "kernel 'k', block 0, thread 0: shuffle of members 0xffffffff waits "
      "for lane 16, which waits in another shuffle");
  auto withoutItself = [](void **) {
    honemu_shfl_sync_bfly_i32(0xffff, 1, 1, 31);
  };
  EXPECT_EQ(run(withoutItself, 1, 32, nullptr),
            "kernel 'k', block 0, thread 16: shuffle of members 0x0000ffff "
            "leaves out its own lane 16");
}

TEST(Shuffles, OfHalvesAreApart) {
  std::vector<int> out(32);
  auto kernel = [](void **args) {
    int32_t half = tid() < 16 ? 0xffff : ~0xffff;
    // The lower half shuffles twice, the upper half once.
    int value = honemu_shfl_sync_bfly_i32(half, tid(), 1, 31);
    if (tid() < 16)
      value = honemu_shfl_sync_bfly_i32(half, value, 2, 31);
    parameterOf<int>(args)[tid()] = value;
  };
  ASSERT_EQ(run(kernel, 1, 32, out.data()), "");
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane < 16 ? lane ^ 3 : lane ^ 1);
}

TEST(Votes, GiveTheBitsOfAllMembers) {
  std::vector<int> out(20);
  auto kernel = [](void **args) {
    if (tid() == 6)
      return;
    int32_t members = tid() < 8 ? 0xff : ~0xff;
    // Only the lowest bit counts.
    int32_t predicate = tid() % 3 == 0 ? -1 : -2;
    parameterOf<int>(args)[tid()] = honemu_vote_ballot_sync(members, predicate);
  };
  for (uint64_t seed : {0, 1, 2}) {
    ASSERT_EQ(run(kernel, 1, 20, out.data(), seed), "");
    for (int lane = 0; lane < 20; ++lane)
      if (lane != 6)
        EXPECT_EQ(out[lane],
                  lane < 8 ? 0b00001001 : 0b1001001001 << 9 & 0xfffff)
            << lane;
  }
}

TEST(Votes, WaitForAllMembers) {
  auto mixed = [](void **) {
    if (tid() < 16)
      honemu_vote_ballot_sync(-1, 1);
    else
      honemu_shfl_sync_idx_i32(-1, 1, 1, 31);
  };
  EXPECT_EQ(
      run(mixed, 1, 32, nullptr),
      "kernel 'k', block 0, thread 0: shuffle of members 0xffffffff waits "
      "for lane 16, which waits in another shuffle");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

TEST(Blocks, EveryThreadOfEveryBlockRunsOnce) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    for (int64_t blocks : {1, 2, 7, 12}) {
      std::vector<int> count(blocks * 70);
      auto kernel = [](void **args) {
        int block = honemu_read_ptx_sreg_ctaid_x();
        honemu_barrier0();
        ++parameterOf<int>(args)[block * honemu_read_ptx_sreg_ntid_x() + tid()];
      };
      ASSERT_EQ(run(kernel, blocks, 70, count.data(), seed), "");
      EXPECT_EQ(count, std::vector<int>(blocks * 70, 1));
    }
  }
}

TEST(Blocks, SeedsGiveOrders) {
  auto kernel = [](void **args) {
    parameterOf<std::vector<int>>(args)->push_back(tid());
  };
  std::set<std::vector<int>> orders;
  for (uint64_t seed : {0, 1, 2, 2}) {
    std::vector<int> order;
    ASSERT_EQ(run(kernel, 1, 64, &order, seed), "");
    EXPECT_EQ(order.size(), 64u);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST(Blocks, BarriersSeparateWhatThreadsDo) {
  std::vector<int> value(256);
  auto kernel = [](void **args) {
    int *value = parameterOf<int>(args);
    for (int round = 0; round < 8; ++round) {
      int next = value[(tid() + 1) % 256] + 1;
      honemu_barrier0();
      value[tid()] = next;
      honemu_barrier0();
    }
  };
  ASSERT_EQ(run(kernel, 1, 256, value.data(), /*seed=*/9), "");
  EXPECT_EQ(value, std::vector<int>(256, 8));
}

TEST(Blocks, BarrierAfterAThreadHasEnded) {
  auto kernel = [](void **) {
    if (tid() != 40)
      honemu_barrier0();
  };
  EXPECT_EQ(run(kernel, 3, 64, nullptr),
            "kernel 'k', block 0, thread 40: ends before a barrier at which 63 "
            "threads wait");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
struct Shared {
  alignas(16) float values[64];
};
} // namespace

TEST(SharedMemory, StartsAsNaNInEachBlock) {
  static Shared shared;
  auto kernel = [](void **args) {
    if (std::isnan(shared.values[tid()]))
      ++parameterOf<int>(args)[tid()];
    shared.values[tid()] = 1;
  };
  std::vector<int> seen(64);
  ASSERT_EQ(run(kernel, 5, 64, seen.data(), 0,
                {{shared.values, sizeof shared.values, 1}}),
            "");
  EXPECT_EQ(seen, std::vector<int>(64, 5));
}

TEST(SharedMemory, RacesByKind) {
  static Shared shared;
  constexpr int64_t kind = honemu_is_shared;
  auto say = [&](Kernel kernel) {
    return run(kernel, 2, 64, nullptr, 0,
               {{shared.values, sizeof shared.values, 1}});
  };
  auto allRead = [](void **) { honemu_access(shared.values, 4, 4, kind); };
  EXPECT_EQ(say(allRead), "");
  auto allWrite = [](void **) {
    honemu_access(shared.values, 4, 4, kind | honemu_writes);
  };
  EXPECT_EQ(say(allWrite),
            "kernel 'k', block 0, thread 1: writes 4 bytes at byte 0 of shared "
            "memory, a race with another thread at byte 0");
  auto writeAfterRead = [](void **) {
    honemu_access(shared.values + 8, 4, 4,
                  kind | (tid() == 63 ? honemu_writes : 0));
  };
  EXPECT_EQ(say(writeAfterRead),
            "kernel 'k', block 0, thread 63: writes 4 bytes at byte 32 of "
            "shared memory, a race with another thread at byte 32");
  auto readerWrites = [](void **) { // which is not the only reader
    honemu_access(shared.values, 4, 4, kind);
    if (tid() == 1)
      honemu_access(shared.values, 4, 4, kind | honemu_writes);
  };
  EXPECT_EQ(say(readerWrites),
            "kernel 'k', block 0, thread 1: writes 4 bytes at byte 0 of shared "
            "memory, a race with another thread at byte 0");
  auto atomic = [](void **) {
    honemu_access(shared.values, 4, 4, kind | honemu_writes | honemu_is_atomic);
  };
  EXPECT_EQ(say(atomic), "");
  auto atomicRead = [](void **) { // before an update, as a test whether to
    honemu_access(shared.values, 4, 4, kind | honemu_is_atomic);
    honemu_access(shared.values, 4, 4, kind | honemu_writes | honemu_is_atomic);
  };
  EXPECT_EQ(say(atomicRead), "");
  auto plainRead = [](void **) { // among atomic ones
    honemu_access(shared.values, 4, 4,
                  kind | (tid() == 7 ? 0 : honemu_is_atomic));
    if (tid() == 9)
      honemu_access(shared.values, 4, 4,
                    kind | honemu_writes | honemu_is_atomic);
  };
  EXPECT_EQ(say(plainRead),
            "kernel 'k', block 0, thread 9: writes 4 bytes at byte 0 of shared "
            "memory, a race with another thread at byte 0");
  auto half = [](void **) { // bytes 0 to 7, 4 to 11, ...
    honemu_access(shared.values + tid() % 8, 8, 4, kind | honemu_writes);
  };
  EXPECT_EQ(say(half),
            "kernel 'k', block 0, thread 1: writes 8 bytes at byte 4 of shared "
            "memory, a race with another thread at byte 4");
}

TEST(GlobalMemory, BlocksAreNeverApart) {
  static float memory[64];
  auto say = [&](Kernel kernel, int64_t blocks) {
    return run(kernel, blocks, 64, nullptr, 0, {},
               {{memory, sizeof memory, 1}});
  };
  // Barriers part the threads of a block, not blocks.
  auto kernel = [](void **) {
    honemu_access(memory + tid(), 4, 4, honemu_writes);
    honemu_barrier0();
    honemu_access(memory + (tid() + 1) % 64, 4, 4, 0);
  };
  EXPECT_EQ(say(kernel, 1), "");
  EXPECT_EQ(say(kernel, 2),
            "kernel 'k', block 1, thread 0: writes 4 bytes at byte 0 of global "
            "memory, a race with another thread at byte 0");
  auto lateWrite = [](void **) {
    bool writes = honemu_read_ptx_sreg_ctaid_x() == 3 && tid() == 5;
    honemu_access(memory + 5, 4, 4, writes ? honemu_writes : 0);
  };
  EXPECT_EQ(say(lateWrite, 3), "");
  EXPECT_EQ(say(lateWrite, 4),
            "kernel 'k', block 3, thread 5: writes 4 bytes at byte 20 of "
            "global memory, a race with another thread at byte 20");
}

TEST(GlobalMemory, WhatAnEarlierBlockReadStaysRead) {
  static float memory[64];
  auto kernel = [](void **) {
    if (tid() != 5)
      return;
    honemu_access(memory, 4, 4, 0);
    if (honemu_read_ptx_sreg_ctaid_x() == 1)
      honemu_access(memory, 4, 4, honemu_writes);
  };
  EXPECT_EQ(run(kernel, 2, 64, nullptr, 0, {}, {{memory, sizeof memory, 1}}),
            "kernel 'k', block 1, thread 5: writes 4 bytes at byte 0 of global "
            "memory, a race with another thread at byte 0");
}

TEST(GlobalMemory, IsNotWrittenWhileItIsConstant) {
  static float memory[64];
  auto say = [&](Kernel kernel) {
    return run(kernel, 1, 64, nullptr, 0, {}, {{memory, sizeof memory, 1}});
  };
  auto inPlace = [](void **) {
    honemu_access(memory + tid(), 4, 4, honemu_is_constant);
    honemu_access(memory + tid(), 4, 4, honemu_writes);
  };
  EXPECT_EQ(say(inPlace),
            "kernel 'k', block 0, thread 0: writes 4 bytes at byte 0 of global "
            "memory, what the launch read as constant, at byte 0");
  auto afterwards = [](void **) {
    honemu_access(memory + tid(), 4, 4, honemu_writes);
    honemu_barrier0();
    honemu_access(memory + 63 - tid(), 4, 4, honemu_is_constant);
  };
  EXPECT_EQ(
      say(afterwards),
      "kernel 'k', block 0, thread 0: reads 4 bytes at byte 252 of global "
      "memory, as constant what the launch wrote, at byte 252");
  auto apart = [](void **) {
    honemu_access(memory + tid() / 2, 4, 4, honemu_is_constant);
    if (tid() < 32)
      honemu_access(memory + 32 + tid(), 4, 4, honemu_writes);
  };
  EXPECT_EQ(say(apart), "");
}

TEST(GlobalMemory, IsReadAndWrittenAsItIs) {
  alignas(16) static float memory[64];
  static float table[4];
  auto say = [&](Kernel kernel) {
    honemu_segment globals[] = {{table, sizeof table, 0}};
    honemu_kernel row = {"k", kernel, 0, 0, nullptr};
    honemu_image image = {1, &row, 1, globals};
    honemu_emulator *emulator = honemu_create(&image);
    honemu_add_memory(emulator, memory, sizeof memory);
    honemu_options options = {};
    char message[256] = "";
    honemu_run(emulator, "k", 1, 1, nullptr, &options, message, sizeof message);
    honemu_destroy(emulator);
    return std::string(message);
  };
  EXPECT_EQ(say([](void **) { honemu_access(memory + 4, 16, 16, 0); }), "");
  EXPECT_EQ(say([](void **) { honemu_access(memory + 6, 16, 16, 0); }),
            "kernel 'k', block 0, thread 0: reads 16 bytes at byte 24 of "
            "global memory, expected an address aligned to 16");
  EXPECT_EQ(say([](void **) { honemu_access(memory + 63, 8, 4, 0); }),
            "kernel 'k', block 0, thread 0: reads 8 bytes at byte 252 of 256 "
            "bytes of global memory");
  EXPECT_EQ(say([](void **) { honemu_access(table, 16, 4, 0); }), "");
  EXPECT_EQ(say([](void **) { honemu_access(table, 4, 4, honemu_writes); }),
            "kernel 'k', block 0, thread 0: writes 4 bytes at byte 0 of global "
            "memory, which is constant");
  EXPECT_EQ(say([](void **) { honemu_access(memory, 4, 4, honemu_is_shared); }),
            "kernel 'k', block 0, thread 0: reads 4 bytes at byte 0 of global "
            "memory as shared memory");
  // A copy of nothing touches nothing.
  EXPECT_EQ(say([](void **) { honemu_access(nullptr, 0, 1, 0); }), "");
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

TEST(Arithmetic, SubnormalsAndNaN) {
  float tiny = 1e-40f, nan = std::nanf("");
  EXPECT_EQ(honemu_rcp_approx_ftz_f(tiny),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(honemu_ex2_approx_ftz_f(-130.0f), 0.0f);
  EXPECT_EQ(honemu_ex2_approx_f(-130.0f), std::ldexp(1.0f, -130));
  EXPECT_EQ(honemu_lg2_approx_f(8.0f), 3.0f);
  EXPECT_EQ(honemu_rsqrt_approx_f(0.25f), 2.0f);
  EXPECT_EQ(honemu_fmax_f(nan, 2.0f), 2.0f);
  EXPECT_TRUE(std::isnan(honemu_fmax_nan_f(nan, 2.0f)));
  EXPECT_TRUE(std::signbit(honemu_fmin_f(0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(honemu_fmax_f(-0.0f, 0.0f)));
  EXPECT_EQ(honemu_fma_rn_ftz_f(tiny, 1.0f, 2.0f), 2.0f);
}

/// 2^x and 1/sqrt(x) of 64 threads, by an emulator that errs or does not.
static std::vector<float> approximations(int64_t inexact) {
  auto kernel = [](void **args) {
    float x = 1.0f + 0.01f * tid();
    parameterOf<float>(args)[tid()] = honemu_ex2_approx_ftz_f(x);
    parameterOf<float>(args)[64 + tid()] = honemu_rsqrt_approx_f(x);
  };
  honemu_kernel row = {"k", kernel, 0, 0, nullptr};
  honemu_image image = {1, &row, 0, nullptr};
  honemu_emulator *emulator = honemu_create(&image);
  std::vector<float> out(128);
  void *parameter = out.data(), *args[] = {&parameter};
  honemu_options options = {0, 0, inexact, 0};
  char message[16] = "";
  EXPECT_EQ(honemu_run(emulator, "k", 1, 64, args, &options, message, 16), 0);
  honemu_destroy(emulator);
  return out;
}

TEST(Arithmetic, ErrsByUpToTwoUnitsWhereItIsAsked) {
  std::vector<float> exact = approximations(0), other = approximations(1);
  EXPECT_EQ(other, approximations(1));
  std::set<int> distances;
  for (size_t i = 0; i < exact.size(); ++i) {
    float unit = std::ldexp(1.0f, std::ilogb(exact[i]) - 23);
    distances.insert(int(std::lround((other[i] - exact[i]) / unit)));
  }
  EXPECT_EQ(distances, (std::set<int>{-2, -1, 0, 1, 2}));
}

TEST(Arithmetic, UpperHalvesOfProducts) {
  EXPECT_EQ(honemu_mulhi_i(-2, 3), -1);
  EXPECT_EQ(honemu_mulhi_ui(-2, 3), 2);
  EXPECT_EQ(honemu_mulhi_ll(-2, 3), -1);
  EXPECT_EQ(honemu_mulhi_ull(-2, 3), 2);
}
