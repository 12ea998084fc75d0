//===- MatricesTest.cpp - The emulator's tensor cores ---------------------===//
//
// Kernels in C++, as the compiler would call the emulator.
//
//===----------------------------------------------------------------------===//

#include "honert/emulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace {
using Kernel = void (*)(void **);

struct Memory {
  alignas(16) char bytes[2048];
  char guard[64];
};
Memory shared;
alignas(16) char source[2048];

std::string run(Kernel kernel, int64_t threads, uint64_t seed = 0,
                int64_t inexact = 0) {
  honemu_segment segment = {shared.bytes, sizeof shared.bytes, 1};
  honemu_kernel row = {"k", kernel, 0, 1, &segment};
  honemu_image image = {1, &row, 0, nullptr};
  honemu_emulator *emulator = honemu_create(&image);
  honemu_add_memory(emulator, source, sizeof source);
  honemu_options options = {seed, /*global_races=*/1, inexact, /*faults=*/0};
  char message[256] = "";
  honemu_run(emulator, "k", 1, threads, nullptr, &options, message,
             sizeof message);
  honemu_destroy(emulator);
  return message;
}

int tid() { return honemu_read_ptx_sreg_tid_x(); }

void copyOwn(int32_t bytes = 16) {
  honemu_cp_async_cg_shared_global_16_s(shared.bytes + 16 * tid(),
                                        source + 16 * tid(), bytes);
  honemu_cp_async_commit_group();
}

void readShared(int place) {
  honemu_access(shared.bytes + place, 16, 16, honemu_is_shared);
}
} // namespace

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

TEST(AsyncCopies, ArriveByTheWait) {
  for (size_t i = 0; i < sizeof source; ++i)
    source[i] = char(i);
  static char seen[2];
  EXPECT_EQ(run(
                [](void **) {
                  honemu_cp_async_ca_shared_global_8_s(shared.bytes, source + 8,
                                                       4);
                  honemu_cp_async_commit_group();
                  honemu_cp_async_ca_shared_global_4_s(shared.bytes + 16,
                                                       source + 4, 4);
                  honemu_cp_async_commit_group();
                  seen[0] = shared.bytes[0];
                  honemu_cp_async_wait_group(1);
                  seen[1] = shared.bytes[16];
                  honemu_cp_async_wait_group(0);
                },
                1),
            "");
  EXPECT_EQ(seen[0], char(0xFF)) << "as late as it may";
  EXPECT_EQ(seen[1], char(0xFF)) << "of a later group";
  EXPECT_EQ(shared.bytes[0], 8);
  EXPECT_EQ(shared.bytes[3], 11);
  EXPECT_EQ(shared.bytes[4], 0) << "what is not read is 0";
  EXPECT_EQ(shared.bytes[16], 4);
}

TEST(AsyncCopies, AreWaitedFor) {
  EXPECT_EQ(run(
                [](void **) {
                  copyOwn();
                  honemu_cp_async_wait_group(1); // expected 0
                  honemu_barrier0();
                  readShared(16 * (31 - tid()));
                },
                32),
            "kernel 'k', block 0, thread 0: reads 16 bytes at byte 496 of "
            "shared memory, into which a copy goes on, at byte 496");
  EXPECT_EQ(run(
                [](void **) {
                  copyOwn();
                  honemu_cp_async_wait_group(0); // and no barrier
                  readShared(16 * (31 - tid()));
                },
                32),
            "kernel 'k', block 0, thread 16: writes 16 bytes at byte 256 of "
            "shared memory, a race with another thread at byte 256");
  EXPECT_EQ(run([](void **) { copyOwn(); }, 1),
            "kernel 'k', block 0, thread 0: ends while its copies into shared "
            "memory go on");
}

TEST(AsyncCopies, OverwriteNothingThatOthersRead) {
  EXPECT_EQ(run(
                [](void **) {
                  readShared(16 * (31 - tid()));
                  copyOwn();
                  honemu_cp_async_wait_group(0);
                },
                32),
            "kernel 'k', block 0, thread 16: reads 16 bytes at byte 240 of "
            "shared memory, a race with another thread at byte 240");
}

TEST(AsyncCopies, StayWithinMemory) {
  EXPECT_EQ(run(
                [](void **) {
                  honemu_cp_async_cg_shared_global_16_s(
                      shared.bytes, source + sizeof source - 8, 16);
                },
                1),
            "kernel 'k', block 0, thread 0: reads 16 bytes at byte 2040 of "
            "2048 bytes of global memory");
  EXPECT_EQ(run(
                [](void **) {
                  honemu_cp_async_cg_shared_global_16_s(shared.bytes,
                                                        source + 8, 16);
                },
                1),
            "kernel 'k', block 0, thread 0: reads 16 bytes at byte 8 of global "
            "memory, expected an address aligned to 16");
  // Where nothing is read, an address is not used.
  EXPECT_EQ(run(
                [](void **) {
                  honemu_cp_async_cg_shared_global_16_s(shared.bytes, nullptr,
                                                        0);
                  honemu_cp_async_commit_group();
                  honemu_cp_async_wait_group(0);
                },
                1),
            "");
  EXPECT_EQ(shared.bytes[15], 0);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

namespace {
int32_t loaded[32][4];

/// Element (row, col) of matrix m is 64 m + 8 row + col. Rows lie apart.
void fillMatrices() {
  for (int row = 0; row < 32; ++row)
    for (int col = 0; col < 8; ++col) {
      auto value = int16_t(8 * row + col);
      std::memcpy(shared.bytes + 64 * row + 2 * col, &value, sizeof value);
    }
}

template <void (*load)(int32_t *, void *)> void loadOwn(void **) {
  if (tid() == 0)
    fillMatrices();
  honemu_barrier0();
  load(loaded[tid()], shared.bytes + 64 * tid());
}

std::pair<int, int> pairOf(int32_t bits) { return {bits & 0xFFFF, bits >> 16}; }
} // namespace

TEST(Matrices, LanesGetPairsOfRows) {
  EXPECT_EQ(run(loadOwn<honemu_ldmatrix_sync_aligned_m8n8_x4_b16_p3>, 32), "");
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix) {
      int first = 64 * matrix + 8 * (lane / 4) + 2 * (lane % 4);
      EXPECT_EQ(pairOf(loaded[lane][matrix]), std::pair(first, first + 1));
    }
  EXPECT_EQ(run(loadOwn<honemu_ldmatrix_sync_aligned_m8n8_x4_trans_b16_p3>, 32,
                /*seed=*/3),
            "");
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix) {
      int first = 64 * matrix + 8 * (2 * (lane % 4)) + lane / 4;
      EXPECT_EQ(pairOf(loaded[lane][matrix]), std::pair(first, first + 8));
    }
}

TEST(Matrices, NeedAllLanes) {
  auto half = [](void **) {
    if (tid() < 16)
      honemu_ldmatrix_sync_aligned_m8n8_x4_b16_p3(loaded[tid()], shared.bytes);
  };
  EXPECT_EQ(run(half, 32), "kernel 'k', block 0, thread 0: computes with all "
                           "lanes of its warp, but lane 16 has ended");
  EXPECT_EQ(run(half, 16), "kernel 'k', block 0, thread 0: computes with all "
                           "lanes of its warp, but lane 16 does not exist");
  auto apart = [](void **) {
    auto load = tid() == 7 ? honemu_ldmatrix_sync_aligned_m8n8_x4_b16_p3
                           : honemu_ldmatrix_sync_aligned_m8n8_x4_trans_b16_p3;
    load(loaded[tid()], shared.bytes);
  };
  EXPECT_EQ(run(apart, 32),
            "kernel 'k', block 0, thread 0: shuffle of members 0xffffffff "
            "waits for lane 7, which waits in another shuffle");
}

//===----------------------------------------------------------------------===//
// Products, by the text of PTX
//===----------------------------------------------------------------------===//

namespace {
// Small whole numbers, exact in bf16 and f16.
int leftAt(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
int rightAt(int k, int col) { return (2 * k + 3 * col) % 5 - 2; }
int addendAt(int row, int col) { return row - 2 * col; }

uint16_t bfloatOf(int value) {
  auto wide = float(value);
  uint32_t bits;
  std::memcpy(&bits, &wide, sizeof bits);
  return uint16_t(bits >> 16);
}
/// A whole number below 4 as f16.
uint16_t halfOf(int value) {
  static const uint16_t numbers[] = {0, 0x3C00, 0x4000, 0x4200};
  return uint16_t(numbers[std::abs(value)] | (value < 0 ? 0x8000 : 0));
}

float products[32][4];

/// a0, a1: (row of the group), (row + 8), k below 8; a2, a3: k above.
template <uint16_t (*encode)(int), auto multiply> void multiplyOwn(void **) {
  int group = tid() / 4, within = tid() % 4;
  int32_t a[4], b[2];
  float c[4];
  auto pair = [](int low, int high) {
    return int32_t(uint32_t(encode(high)) << 16 | encode(low));
  };
  for (int i = 0; i < 4; ++i) {
    int row = group + 8 * (i % 2), k = 2 * within + 8 * (i / 2);
    a[i] = pair(leftAt(row, k), leftAt(row, k + 1));
    c[i] = float(addendAt(group + 8 * (i / 2), 2 * within + i % 2));
  }
  for (int i = 0; i < 2; ++i) {
    int k = 2 * within + 8 * i;
    b[i] = pair(rightAt(k, group), rightAt(k + 1, group));
  }
  multiply(products[tid()], a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1],
           c[2], c[3]);
}

void expectProducts() {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + 8 * (i / 2), col = 2 * (lane % 4) + i % 2;
      int sum = addendAt(row, col);
      for (int k = 0; k < 16; ++k)
        sum += leftAt(row, k) * rightAt(k, col);
      EXPECT_EQ(products[lane][i], float(sum)) << lane << " " << i;
    }
}

/// 1, and 2^-25 for each lane of a row.
void roundOwn(void **) {
  int32_t one = bfloatOf(1), small = 0x3300; // 2^-25 in bf16
  honemu_mma_m16n8k16_row_col_bf16(products[tid()], one, one, 0, 0,
                                   small | small << 16, 0, 1, 1, 1, 1);
}
} // namespace

TEST(Products, AreThoseOfMatrices) {
  EXPECT_EQ(run(multiplyOwn<bfloatOf, honemu_mma_m16n8k16_row_col_bf16>, 32),
            "");
  expectProducts();
  EXPECT_EQ(run(multiplyOwn<halfOf, honemu_mma_m16n8k16_row_col_f32_f32>, 32,
                /*seed=*/9),
            "");
  expectProducts();
}

TEST(Products, RoundTowardZeroWhereTheyErr) {
  // Four lanes together give the last bit of f32, three of them do not.
  EXPECT_EQ(run(roundOwn, 32), "");
  EXPECT_EQ(products[0][0], std::nextafter(1.0f, 2.0f));
  auto less = [](void **) {
    int32_t one = tid() % 4 == 3 ? 0 : bfloatOf(1), small = 0x3300;
    honemu_mma_m16n8k16_row_col_bf16(products[tid()], one, one, 0, 0,
                                     small | small << 16, 0, 1, 1, 1, 1);
  };
  EXPECT_EQ(run(less, 32), "");
  EXPECT_EQ(products[0][0], std::nextafter(1.0f, 2.0f)); // 3/4, to nearest
  EXPECT_EQ(run(less, 32, /*seed=*/0, /*inexact=*/1), "");
  EXPECT_EQ(products[0][0], 1.0f);
}
