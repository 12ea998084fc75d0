//===- CpuTest.cpp - Every CPU that LLVM knows ----------------------------===//

#include "hone/Target/CPU/MachineCode.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace hone;

namespace {
/// What kernels are made of, in the types that CPUs differ in.
constexpr const char *kernel = R"(
  define void @kernel(ptr %p, <16 x float> %a, <16 x i32> %i) #0 {
    %b = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %a, <16 x float> %a)
    %h = fptrunc <16 x float> %b to <16 x half>
    %w = fpext <16 x half> %h to <16 x float>
    %s = shl <16 x i32> %i, <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16>
    %f = bitcast <16 x i32> %s to <16 x float>
    %c = fcmp ogt <16 x float> %f, %w
    %r = select <16 x i1> %c, <16 x float> %f, <16 x float> %w
    store <16 x float> %r, ptr %p
    ret void
  }
  declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
  attributes #0 = { "target-cpu"="CPU" "prefer-vector-width"="512" }
)";

TEST(Cpu, EveryNameEmitsCodeOrIsRefused) {
  std::vector<std::string> refused;
  std::vector<llvm::StringRef> names = listCpus();
  EXPECT_GT(names.size(), 80u);
  for (llvm::StringRef name : names) {
    llvm::Expected<CpuTarget> cpu = selectCpu(name);
    if (!cpu) {
      std::string said = llvm::toString(cpu.takeError());
      EXPECT_EQ(said, "is '" + name.str() +
                          "', a CPU of 32 bits, expected one of 64 as "
                          "x86-64-v3");
      refused.push_back(name.str());
      continue;
    }
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    std::string text = kernel;
    text.replace(text.find("CPU"), 3, name.str());
    auto module = llvm::parseAssemblyString(text, problem, context);
    ASSERT_TRUE(module) << problem.getMessage().str();
    auto machine = createMachine(*cpu);
    module->setTargetTriple(cpu->triple);
    module->setDataLayout(machine->createDataLayout());
    EXPECT_FALSE(emitObject(*module, *machine).empty()) << name.str();
  }
  auto isRefused = [&](const char *name) {
    return llvm::is_contained(refused, name);
  };
  for (const char *name : {"i386", "i686", "pentium4", "yonah", "lakemont"})
    EXPECT_TRUE(isRefused(name)) << name;
  for (const char *name : {"generic", "nocona", "x86-64", "znver4"})
    EXPECT_FALSE(isRefused(name)) << name;
}

TEST(Cpu, UnknownNamesGetTheNearest) {
  std::string said = llvm::toString(selectCpu("skylake-avx512x").takeError());
  EXPECT_NE(said.find("; did you mean skylake-avx512?"), said.npos) << said;
  said = llvm::toString(selectCpu("z80").takeError());
  EXPECT_EQ(said.find("did you mean"), said.npos) << said;
}
} // namespace
