//===- KernelsTest.cpp - Device code that is right, and that is not -------===//

#include "DeviceCase.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace hone::test;

namespace {
/// 1000 elements by blocks of 128 threads, the last of which has a tail.
const std::string scale = R"(
gpu.func @scale(%x: memref<1000xf32>, %y: memref<1000xf32>) kernel
    attributes {nvvm.maxntid = array<i32: 128>} {
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %n = gpu.block_dim x
  %base = arith.muli %b, %n : index
  %i = arith.addi %base, %t : index
  %size = arith.constant 1000 : index
  %inside = arith.cmpi ult, %i, %size : index
  scf.if %inside {
    %v = memref.load %x[%i] : memref<1000xf32>
    %c = arith.constant 3.0 : f32
    %w = arith.mulf %v, %c : f32
    memref.store %w, %y[%i] : memref<1000xf32> // store
  }
  gpu.return
})";

/// A softmax of each of 8 rows of 256 elements, by one block per row.
const std::string softmax = R"(
gpu.func @softmax(%x: memref<8x256xf32>, %y: memref<8x256xf32>)
    workgroup(%part: memref<8xf32, #gpu.address_space<workgroup>>) kernel
    attributes {nvvm.maxntid = array<i32: 256>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %o1 = arith.constant 1 : i32
  %o2 = arith.constant 2 : i32
  %o4 = arith.constant 4 : i32
  %o8 = arith.constant 8 : i32
  %o16 = arith.constant 16 : i32
  %width = arith.constant 32 : i32 // width
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %t = gpu.thread_id x
  %row = gpu.block_id x
  %lane = arith.remui %t, %c32 : index
  %warp = arith.divui %t, %c32 : index // warp
  %first = arith.cmpi eq, %lane, %c0 : index // first
  %v = memref.load %x[%row, %t] : memref<8x256xf32> // load

  %m16, %p16 = gpu.shuffle xor %v, %o16, %width : f32 // shuffle
  %a16 = arith.maximumf %v, %m16 : f32
  %m8, %p8 = gpu.shuffle xor %a16, %o8, %width : f32
  %a8 = arith.maximumf %a16, %m8 : f32
  %m4, %p4 = gpu.shuffle xor %a8, %o4, %width : f32
  %a4 = arith.maximumf %a8, %m4 : f32
  %m2, %p2 = gpu.shuffle xor %a4, %o2, %width : f32
  %a2 = arith.maximumf %a4, %m2 : f32
  %m1, %p1 = gpu.shuffle xor %a2, %o1, %width : f32
  %a1 = arith.maximumf %a2, %m1 : f32
  scf.if %first {
    memref.store %a1, %part[%warp] : memref<8xf32, #gpu.address_space<workgroup>> // store max
  }
  gpu.barrier // one
  %max = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %low) -> (f32) {
    %p = memref.load %part[%k] : memref<8xf32, #gpu.address_space<workgroup>>
    %next = arith.maximumf %acc, %p : f32
    scf.yield %next : f32
  }
  %centred = arith.subf %v, %max : f32
  %e = math.exp %centred : f32

  %s16, %q16 = gpu.shuffle xor %e, %o16, %width : f32
  %b16 = arith.addf %e, %s16 : f32
  %s8, %q8 = gpu.shuffle xor %b16, %o8, %width : f32
  %b8 = arith.addf %b16, %s8 : f32
  %s4, %q4 = gpu.shuffle xor %b8, %o4, %width : f32
  %b4 = arith.addf %b8, %s4 : f32
  %s2, %q2 = gpu.shuffle xor %b4, %o2, %width : f32
  %b2 = arith.addf %b4, %s2 : f32
  %s1, %q1 = gpu.shuffle xor %b2, %o1, %width : f32
  %b1 = arith.addf %b2, %s1 : f32
  gpu.barrier // two
  scf.if %first {
    memref.store %b1, %part[%warp] : memref<8xf32, #gpu.address_space<workgroup>> // store sum
  }
  gpu.barrier // three
  %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (f32) {
    %p = memref.load %part[%k] : memref<8xf32, #gpu.address_space<workgroup>>
    %next = arith.addf %acc, %p : f32
    scf.yield %next : f32
  }
  %r = arith.divf %e, %sum : f32
  memref.store %r, %y[%row, %t] : memref<8x256xf32> // store result
  gpu.return
})";

std::vector<float> randomNumbers(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(random);
  return numbers;
}

/// What the emulator says of a softmax of 8 rows; `out` gets the result.
std::string runSoftmax(const std::string &text, std::vector<float> &out,
                       uint64_t seed = 0) {
  DeviceCase device(text);
  std::vector<float> x = randomNumbers(8 * 256);
  out.assign(x.size(), 0);
  return device.jit.run("softmax", 8, 256, {bufferOf(x), bufferOf(out)}, seed);
}

/// What the emulator says of a changed softmax.
std::string defectOf(const std::string &marker, const std::string &line) {
  std::vector<float> out;
  return runSoftmax(replaceLine(softmax, marker, line), out);
}
} // namespace

//===----------------------------------------------------------------------===//
// Right
//===----------------------------------------------------------------------===//

TEST(DeviceKernels, MapsElements) {
  DeviceCase device(scale);
  std::vector<float> x(1000), y(1000, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  device.jit.launch("scale", 8, 128, {bufferOf(x), bufferOf(y)});
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(y[i], 3.0f * i);
}

TEST(DeviceKernels, MapsElementsInPlace) {
  DeviceCase device(scale);
  std::vector<float> x(1000, 2.0f);
  device.jit.launch("scale", 8, 128, {bufferOf(x), bufferOf(x)});
  EXPECT_EQ(x, std::vector<float>(1000, 6.0f));
}

TEST(DeviceKernels, ReducesRowsOverWarps) {
  std::vector<float> x = randomNumbers(8 * 256), y;
  ASSERT_EQ(runSoftmax(softmax, y), "");
  for (int row = 0; row < 8; ++row) {
    double max = *std::max_element(&x[row * 256], &x[row * 256] + 256), sum = 0;
    for (int i = 0; i < 256; ++i)
      sum += std::exp(x[row * 256 + i] - max);
    for (int i = 0; i < 256; ++i) {
      double want = std::exp(x[row * 256 + i] - max) / sum;
      // Two ulp of exp, and sums of 256 in a tree: 8 roundings at most.
      EXPECT_NEAR(y[row * 256 + i], want, 1e-6 * want);
    }
  }
}

TEST(DeviceKernels, AnyOrderOfThreadsGivesTheSameBits) {
  std::vector<float> first, other;
  ASSERT_EQ(runSoftmax(softmax, first), "");
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    ASSERT_EQ(runSoftmax(softmax, other, seed), "");
    EXPECT_EQ(first, other) << "seed " << seed;
  }
}

//===----------------------------------------------------------------------===//
// Wrong: each defect, and what is said of it
//===----------------------------------------------------------------------===//

TEST(DeviceDefects, BarrierBetweenWriteAndReadMissing) {
  expectSays(defectOf("// one", ""), "a race with another thread");
  expectSays(defectOf("// three", ""), "a race with another thread");
}

TEST(DeviceDefects, BarrierBetweenReadAndWriteMissing) {
  expectSays(defectOf("// two", ""), "a race with another thread");
}

TEST(DeviceDefects, SharedIndexOutOfRange) {
  expectSays(defectOf("// warp", "  %w0 = arith.divui %t, %c32 : index\n"
                                 "  %warp = arith.addi %w0, %c1 : index"),
             "thread 224: writes 4 bytes at byte 32 of 32 bytes of shared");
}

TEST(DeviceDefects, GlobalIndexOutOfRange) {
  expectSays(defectOf("// load",
                      "  %below = arith.addi %row, %c1 : index\n"
                      "  %v = memref.load %x[%below, %t] : memref<8x256xf32>"),
             "block 7, thread 0: reads 4 bytes at byte 8192 of 8192 "
             "bytes of global memory");
}

TEST(DeviceDefects, TailNotMasked) {
  DeviceCase device(replaceLine(
      scale, "%inside =", "%inside = arith.cmpi ule, %i, %size : index"));
  std::vector<float> x(1000), y(1000);
  expectSays(device.jit.run("scale", 8, 128, {bufferOf(x), bufferOf(y)}),
             "block 7, thread 104: reads 4 bytes at byte 4000");
}

TEST(DeviceDefects, ShuffleLeavesOutLanes) {
  expectSays(defectOf("// width", "  %width = arith.constant 16 : i32"),
             "shuffle of members 0x0000ffff leaves out its own "
             "lane 16");
}

TEST(DeviceDefects, ShuffleInABranch) {
  std::string text =
      replaceLine(softmax, "// shuffle",
                  "  %c16 = arith.constant 16 : index\n"
                  "  %half = arith.cmpi ult, %lane, %c16 : index\n"
                  "  %m16 = scf.if %half -> (f32) {\n"
                  "    %s, %p = gpu.shuffle xor %v, %o16, %width : f32\n"
                  "    scf.yield %s : f32\n"
                  "  } else {\n"
                  "    gpu.barrier\n"
                  "    scf.yield %v : f32\n"
                  "  }");
  std::vector<float> out;
  expectSays(runSoftmax(text, out),
             "waits for lane 16, which waits at a barrier");
}

TEST(DeviceDefects, BarrierThatNotAllReach) {
  DeviceCase device(
      replaceLine(scale, "// store",
                  "    memref.store %w, %y[%i] : memref<1000xf32>\n"
                  "    gpu.barrier"));
  std::vector<float> x(1000), y(1000);
  expectSays(device.jit.run("scale", 8, 128, {bufferOf(x), bufferOf(y)}),
             "block 7, thread 104: ends before a barrier at which 104 threads "
             "wait");
}

TEST(DeviceDefects, SharedMemoryReadBeforeItIsWritten) {
  std::vector<float> out;
  EXPECT_EQ(
      runSoftmax(replaceLine(softmax, "// first",
                             "  %c3 = arith.constant 3 : index\n"
                             "  %leads = arith.cmpi eq, %lane, %c0 : index\n"
                             "  %isOther = arith.cmpi ne, %warp, %c3 : index\n"
                             "  %first = arith.andi %leads, %isOther : i1"),
                 out),
      "");
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(DeviceDefects, BlocksWriteTheSameElement) {
  expectSays(defectOf("// store result",
                      "  memref.store %r, %y[%c0, %t] : memref<8x256xf32>"),
             "block 1, thread 0: writes 4 bytes at byte 0 of global "
             "memory, a race with another thread");
}

TEST(DeviceDefects, PromiseOfConstantMemoryIsBroken) {
  DeviceCase device(R"(
gpu.func @twice(%x: memref<64xf32> {llvm.noalias, llvm.readonly},
                %y: memref<64xf32> {llvm.noalias}) kernel
    attributes {nvvm.maxntid = array<i32: 64>} {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<64xf32>
  %w = arith.addf %v, %v : f32
  memref.store %w, %y[%t] : memref<64xf32>
  gpu.return
})");
  expectSays(device.jit.getPtx(), "ld.global.nc.f32");
  std::vector<float> x(64), y(64);
  device.jit.launch("twice", 1, 64, {bufferOf(x), bufferOf(y)});
  expectSays(device.jit.run("twice", 1, 64, {bufferOf(x), bufferOf(x)}),
             "what the launch read as constant");
}

TEST(DeviceDefects, AddressNotAlignedAsDeclared) {
  DeviceCase device(R"(
gpu.func @copy(%x: memref<32xvector<4xf32>>, %y: memref<32xvector<4xf32>>)
    kernel attributes {nvvm.maxntid = array<i32: 32>, hone.vectorised} {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<32xvector<4xf32>>
  memref.store %v, %y[%t] : memref<32xvector<4xf32>>
  gpu.return
})");
  alignas(16) static float from[160], to[160];
  device.jit.launch("copy", 1, 32, {{from, 512}, {to, 512}});
  expectSays(device.jit.run("copy", 1, 32, {{from + 1, 512}, {to, 512}}),
             "expected an address aligned to 16");
}

TEST(DeviceDefects, LaunchOfAnotherShape) {
  DeviceCase device(scale);
  std::vector<float> x(1000);
  EXPECT_EQ(device.jit.run("scale", 4, 256, {bufferOf(x), bufferOf(x)}),
            "kernel 'scale' runs with 256 threads in a block, expected 1 to "
            "128");
  EXPECT_EQ(device.jit.run("scales", 4, 128, {}),
            "kernel 'scales' is not part of the program");
}
