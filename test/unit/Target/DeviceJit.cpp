//===- DeviceJit.cpp - Device code run by the emulator --------------------===//

#include "DeviceJit.h"

#include "hone/Pipelines/Pipelines.h"
#include "hone/Target/Emulation/DeviceCode.h"
#include "honert/emulator.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace mlir;
using namespace hone::test;

[[noreturn]] static void fail(const std::string &message) {
  std::fprintf(stderr, "error: device: %s\n", message.c_str());
  std::exit(1);
}

template <typename T> static T take(llvm::Expected<T> value) {
  if (!value)
    fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

std::unique_ptr<MLIRContext> hone::test::makeDeviceContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

struct DeviceJit::State {
  ~State() { honemu_destroy(emulator); }
  std::unique_ptr<llvm::orc::LLJIT> jit;
  honemu_emulator *emulator = nullptr;
};

/// The functions of the emulator, which is part of this program.
static llvm::orc::SymbolMap emulatorFunctions(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
#define HONEMU_INTRINSIC(result, name, parameters) add(#name, &name);
#include "honert/emulator.def"
#undef HONEMU_INTRINSIC
  add("honemu_access", &honemu_access);
  return symbols;
}

DeviceJit::DeviceJit(ModuleOp module, const std::string &arch)
    : state(std::make_unique<State>()) {
  PassManager manager(module.getContext());
  buildDevicePhase(manager);
  if (failed(manager.run(module)))
    fail("a kernel does not lower");
  auto sources = module.getOps<gpu::GPUModuleOp>();
  if (!llvm::hasSingleElement(sources))
    fail("the module does not hold one gpu.module");
  DeviceTarget device = take(selectDevice(arch));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      take(translateDevice(*sources.begin(), device, context));
  ptx = take(emitPtx(*translated, device));

  CpuTarget cpu = take(selectCpu("native"));
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(cpu);
  std::unique_ptr<llvm::Module> code =
      take(emulateDevice(*translated, cpu, *machine));
  state->jit = take(llvm::orc::LLJITBuilder().create());
  llvm::orc::LLJIT &jit = *state->jit;
  auto check = [](llvm::Error error) {
    if (error)
      fail(llvm::toString(std::move(error)));
  };
  check(jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(emulatorFunctions(jit))));
  check(jit.addObjectFile(std::make_unique<llvm::SmallVectorMemoryBuffer>(
      emitObject(*code, *machine))));
  auto *image = take(jit.lookup(emulatedImageName)).toPtr<honemu_image *>();
  state->emulator = honemu_create(image);
}

DeviceJit::~DeviceJit() = default;

/// Buffers as ranges that do not overlap.
static std::vector<DeviceBuffer>
joinOverlaps(llvm::ArrayRef<DeviceBuffer> buffers) {
  std::vector<DeviceBuffer> sorted = buffers.vec(), joined;
  auto begin = [](const DeviceBuffer &buffer) {
    return reinterpret_cast<uintptr_t>(buffer.data);
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const DeviceBuffer &a, const DeviceBuffer &b) {
              return begin(a) < begin(b);
            });
  for (const DeviceBuffer &buffer : sorted) {
    if (buffer.bytes == 0)
      continue;
    int64_t distance =
        joined.empty() ? -1 : int64_t(begin(buffer) - begin(joined.back()));
    if (!joined.empty() && distance < joined.back().bytes)
      joined.back().bytes =
          std::max(joined.back().bytes, distance + buffer.bytes);
    else
      joined.push_back(buffer);
  }
  return joined;
}

std::string DeviceJit::run(const std::string &kernel, int64_t blocks,
                           int64_t threads,
                           llvm::ArrayRef<DeviceBuffer> buffers,
                           uint64_t seed) {
  std::vector<DeviceBuffer> memory = joinOverlaps(buffers);
  for (const DeviceBuffer &buffer : memory)
    honemu_add_memory(state->emulator, buffer.data, buffer.bytes);
  std::vector<void *> addresses, arguments;
  for (const DeviceBuffer &buffer : buffers)
    addresses.push_back(buffer.data);
  for (void *&address : addresses)
    arguments.push_back(&address);
  honemu_options options = {seed, /*global_races=*/1, /*inexact=*/0,
                            /*faults=*/0};
  char message[512] = "";
  honemu_run(state->emulator, kernel.c_str(), blocks, threads, arguments.data(),
             &options, message, sizeof message);
  for (const DeviceBuffer &buffer : memory)
    honemu_add_memory(state->emulator, buffer.data, 0);
  return message;
}

void DeviceJit::launch(const std::string &kernel, int64_t blocks,
                       int64_t threads, llvm::ArrayRef<DeviceBuffer> buffers) {
  EXPECT_EQ(run(kernel, blocks, threads, buffers), "");
}
