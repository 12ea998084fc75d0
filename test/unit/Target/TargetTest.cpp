//===- TargetTest.cpp - GPUs, PTX and its assembler -----------------------===//

#include "DeviceCase.h"

#include "hone/Target/GPU/Assembler.h"

#include <cstdlib>

using namespace hone;
using namespace hone::test;

TEST(DeviceTarget, TakesThePtxOfTheNewestKnownArchitecture) {
  auto chipOf = [](llvm::StringRef arch) {
    return llvm::cantFail(selectDevice(arch)).chip;
  };
  EXPECT_EQ(chipOf("sm_80"), "sm_80");
  EXPECT_EQ(chipOf("sm_89"), "sm_89");
  EXPECT_EQ(chipOf("sm_90"), "sm_90");
  EXPECT_EQ(chipOf("sm_120"), "sm_90");
  EXPECT_EQ(llvm::cantFail(selectDevice("sm_100")).arch, 100);
}

TEST(DeviceTarget, RefusesOthersWithAList) {
  for (const char *arch : {"sm_75", "sm_90a", "90", "native", ""})
    EXPECT_EQ(llvm::toString(selectDevice(arch).takeError()),
              "is '" + std::string(arch) +
                  "', expected sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, "
                  "sm_103, sm_110, sm_120, sm_121");
}

namespace {
const char *const twoKernels = R"(
gpu.func @plain(%x: memref<64xf32>) kernel attributes {nvvm.maxntid = array<i32: 64>} {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<64xf32>
  %w = math.sqrt %v : f32
  memref.store %w, %x[%t] : memref<64xf32>
  gpu.return
}
gpu.func @shared(%x: memref<64xf32>)
    workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel
    attributes {nvvm.maxntid = array<i32: 64>} {
  %t = gpu.thread_id x
  %c63 = arith.constant 63 : index
  %v = memref.load %x[%t] : memref<64xf32>
  memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %o = arith.subi %c63, %t : index
  %w = memref.load %s[%o] : memref<64xf32, #gpu.address_space<workgroup>>
  memref.store %w, %x[%t] : memref<64xf32>
  gpu.return
})";
} // namespace

TEST(DeviceAssembler, ReadsWhatTheAssemblerSays) {
  std::vector<KernelResources> kernels = parseResources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 48 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "ptxas info    : Function properties for b\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 12 registers, used 0 barriers, 376 bytes "
      "cmem[0]\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "a");
  EXPECT_EQ(kernels[0].registers, 255);
  EXPECT_EQ(kernels[0].stackBytes, 16);
  EXPECT_EQ(kernels[0].spillStoreBytes, 4);
  EXPECT_EQ(kernels[0].spillLoadBytes, 8);
  EXPECT_EQ(kernels[0].sharedBytes, 48);
  EXPECT_EQ(kernels[1].kernel, "b");
  EXPECT_EQ(kernels[1].registers, 12);
  EXPECT_EQ(kernels[1].sharedBytes, 0);
}

TEST(DeviceAssembler, IsNotThereUnderAWrongName) {
  EXPECT_FALSE(findAssembler("no-such-assembler"));
}

TEST(DeviceAssembler, IsTheOneThatTheEnvironmentNames) {
  const char *before = std::getenv("HONE_PTXAS");
  std::string kept = before ? before : "";
  setenv("HONE_PTXAS", "/bin/true", 1);
  EXPECT_EQ(findAssembler(), "/bin/true");
  EXPECT_EQ(findAssembler("/bin/false"), "/bin/false");
  setenv("HONE_PTXAS", "no-such-assembler", 1);
  EXPECT_EQ(findAssembler(), std::nullopt);
  if (before)
    setenv("HONE_PTXAS", kept.c_str(), 1);
  else
    unsetenv("HONE_PTXAS");
}

TEST(DeviceAssembler, AssemblesForEachArchitecture) {
  std::optional<std::string> assembler = findAssembler();
  if (!assembler)
    GTEST_SKIP() << "there is no ptxas";
  DeviceCase device(twoKernels);
  for (const char *arch : {"sm_90", "sm_100", "sm_120"}) {
    DeviceTarget target = llvm::cantFail(selectDevice(arch));
    llvm::Expected<DeviceBinary> binary =
        assemble(device.jit.getPtx(), target, *assembler);
    ASSERT_TRUE(bool(binary)) << llvm::toString(binary.takeError());
    EXPECT_EQ(binary->arch, target.arch);
    EXPECT_EQ(binary->image.substr(1, 3), "ELF");
    ASSERT_EQ(binary->kernels.size(), 2u);
    for (const KernelResources &kernel : binary->kernels) {
      EXPECT_GT(kernel.registers, 0);
      EXPECT_EQ(kernel.spillStoreBytes + kernel.spillLoadBytes, 0);
      EXPECT_EQ(kernel.sharedBytes, kernel.kernel == "shared" ? 256 : 0);
    }
  }
}

TEST(DeviceAssembler, PassesOnAComplaint) {
  std::optional<std::string> assembler = findAssembler();
  if (!assembler)
    GTEST_SKIP() << "there is no ptxas";
  llvm::Expected<DeviceBinary> binary =
      assemble(".version 7.8\n.target sm_90\n.address_size 64\nnonsense\n",
               llvm::cantFail(selectDevice("sm_90")), *assembler);
  ASSERT_FALSE(bool(binary));
  std::string message = llvm::toString(binary.takeError());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  expectSays(message, "ptxas");
}
