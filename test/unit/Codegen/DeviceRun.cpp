//===- DeviceRun.cpp - Kernels of a GPU against the interpreter -----------===//

#include "DeviceRun.h"

#include "Codegen/CPU/DepthwiseKernels.h"
#include "Codegen/CPU/GatherKernels.h"
#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/OptimizerKernels.h"
#include "Codegen/CPU/RopeKernels.h"
#include "Codegen/CPU/RowKernels.h"
#include "Codegen/CPU/WeightKernels.h"
#include "Codegen/GPU/AddKernels.h"
#include "Codegen/GPU/DataMovementKernels.h"
#include "Codegen/GPU/GatherKernels.h"
#include "Codegen/GPU/GroupedKernels.h"
#include "Codegen/GPU/Items.h"
#include "Codegen/GPU/NormKernels.h"
#include "Codegen/GPU/QuantizeKernels.h"
#include "Codegen/GPU/RopeKernels.h"
#include "Codegen/GPU/RowKernels.h"
#include "Codegen/GPU/ScatterKernels.h"
#include "Codegen/GPU/SelectionKernels.h"
#include "Codegen/GPU/UpdateKernels.h"
#include "DeviceJit.h"
#include "LaunchCase.h"

#include "llvm/ADT/SetVector.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;
using namespace hone::test;

namespace {
/// A kernel of the case, by name, as it is launched.
struct Stage {
  std::string name;
  int64_t blocks, threads;
  bool takesArena;
};

/// What a GPU has in place of a CPU's emitter.
struct Counterpart {
  Emitter cpu;
  FailureOr<GridKernel> (*gpu)(OpBuilder &, StringRef, plan::LaunchOp);
  bool takesArena = false;
};

/// The kernels of a case as code of a GPU.
class DeviceRunner {
public:
  DeviceRunner(Emitter emit, const std::string &text,
               const CaseOptions &options);
  /// Outputs on fresh memory. `seed`: of the order of threads; 0: their own.
  std::vector<std::vector<char>> run(uint64_t seed);

private:
  void emitAll(Emitter emit);
  void emitScatter(OpBuilder &b, gpu::GPUModuleOp device);
  void emitLines(OpBuilder &b, gpu::GPUModuleOp device);
  void emitNorm(OpBuilder &b, gpu::GPUModuleOp device, GlobalNormOp norm);
  void emitAdds(OpBuilder &b, gpu::GPUModuleOp device);
  bool emitCodes(OpBuilder &b, gpu::GPUModuleOp device);
  void add(const GridKernel &kernel, bool takesArena);

  LaunchCase launchCase;
  CaseOptions options;
  interp::Tensors arguments;
  std::vector<int64_t> offsets, sizes; // of the launch's buffers
  size_t firstOutput, outputs;
  std::vector<size_t> raised; ///< buffers that are 0 before
  std::vector<Stage> stages;
  std::unique_ptr<DeviceJit> jit;
};
} // namespace

void DeviceRunner::add(const GridKernel &kernel, bool takesArena) {
  gpu::GPUFuncOp func = kernel.func;
  stages.push_back(
      {func.getName().str(), kernel.blocks, kernel.threads, takesArena});
}

void DeviceRunner::emitNorm(OpBuilder &b, gpu::GPUModuleOp device,
                            GlobalNormOp norm) {
  plan::LaunchOp launch = launchCase.launch;
  llvm::SmallSetVector<Type, 2> elements;
  for (Value input : norm.getInputs())
    elements.insert(getElementTypeOrSelf(input.getType()));
  for (auto [index, element] : llvm::enumerate(elements)) {
    b.setInsertionPoint(device.getBody(), --device.getBody()->end());
    auto kernel = emitDeviceSquareSums(b, "squares" + std::to_string(index),
                                       launch, cast<FloatType>(element));
    ASSERT_TRUE(succeeded(kernel));
    add(*kernel, /*takesArena=*/true);
  }
  b.setInsertionPoint(device.getBody(), --device.getBody()->end());
  auto kernel = emitDeviceNormFinish(b, "root", launch);
  ASSERT_TRUE(succeeded(kernel));
  add(*kernel, /*takesArena=*/true);
}

void DeviceRunner::emitScatter(OpBuilder &b, gpu::GPUModuleOp device) {
  plan::LaunchOp launch = launchCase.launch;
  b.setInsertionPoint(device.getBody(), --device.getBody()->end());
  auto sort = emitDeviceScatterSort(b, "sort", launch);
  ASSERT_TRUE(succeeded(sort));
  add(*sort, /*takesArena=*/false);
  b.setInsertionPoint(device.getBody(), --device.getBody()->end());
  auto sums = emitDeviceScatterSums(b, "sums", launch);
  ASSERT_TRUE(succeeded(sums));
  add(*sums, /*takesArena=*/false);
}

void DeviceRunner::emitLines(OpBuilder &b, gpu::GPUModuleOp device) {
  plan::LaunchOp launch = launchCase.launch;
  auto stages = lineStages(launch);
  ASSERT_TRUE(succeeded(stages));
  for (LineStage stage : *stages) {
    b.setInsertionPoint(device.getBody(), --device.getBody()->end());
    auto kernel = stage.emit(b, "line" + stage.name.str(), launch);
    ASSERT_TRUE(succeeded(kernel));
    add(*kernel, /*takesArena=*/false);
  }
}

void DeviceRunner::emitAdds(OpBuilder &b, gpu::GPUModuleOp device) {
  plan::LaunchOp launch = launchCase.launch;
  llvm::SmallSetVector<Type, 2> elements;
  for (Value output : launch.getOutputs())
    elements.insert(getElementTypeOrSelf(output.getType()));
  for (auto [index, element] : llvm::enumerate(elements)) {
    b.setInsertionPoint(device.getBody(), --device.getBody()->end());
    auto kernel =
        emitDeviceAdds(b, "adds" + std::to_string(index), launch, element);
    ASSERT_TRUE(succeeded(kernel));
    add(*kernel, /*takesArena=*/true);
  }
}

/// Whether the launch is about codes of fp8, which have kernels of their own.
bool DeviceRunner::emitCodes(OpBuilder &b, gpu::GPUModuleOp device) {
  plan::LaunchOp launch = launchCase.launch;
  Operation *last = launch.getBodyBlock().getTerminator()->getPrevNode();
  bool isMap = launch.getFamily() == KernelFamily::map ||
               launch.getFamily() == KernelFamily::row;
  if (isMap || !isa_and_nonnull<QuantizeOp, AmaxOp>(last))
    return false;
  bool isOfInput = isa<AmaxOp>(launch.getBodyBlock().front());
  auto emit = isOfInput ? emitDeviceAmax : emitDeviceQuantize;
  b.setInsertionPoint(device.getBody(), --device.getBody()->end());
  auto kernel = emit(b, "codes", launch);
  EXPECT_TRUE(succeeded(kernel));
  if (succeeded(kernel))
    add(*kernel, /*takesArena=*/false);
  if (emit == emitDeviceQuantize && !launch.getScratch().empty()) {
    b.setInsertionPoint(device.getBody(), --device.getBody()->end());
    auto sums = emitDeviceCodeSums(b, "sums", launch);
    EXPECT_TRUE(succeeded(sums));
    if (succeeded(sums))
      add(*sums, /*takesArena=*/false);
  }
  return true;
}

static const Counterpart counterparts[] = {
    {emitRowKernel, emitDeviceRowKernel},
    {emitPartialSums, emitDevicePartialSums},
    {emitPoint, emitDevicePoint},
    {emitConvolution, emitDevicePoint},
    {emitMovement, emitDevicePoint},
    {emitRope, emitDeviceRope},
    {emitGather, emitDeviceGather},
    {emitUpdates, emitDeviceUpdates, /*takesArena=*/true}};

void DeviceRunner::emitAll(Emitter emit) {
  ModuleOp module = *launchCase.module;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto device = b.create<gpu::GPUModuleOp>(module.getLoc(), "device");
  plan::LaunchOp launch = launchCase.launch;
  if (auto norm = dyn_cast<GlobalNormOp>(launch.getBodyBlock().front()))
    return emitNorm(b, device, norm);
  if (isa<EmbeddingBwdOp>(launch.getBodyBlock().front()))
    return emitScatter(b, device);
  if (launch.getFamily() == KernelFamily::multiTensor &&
      isa<AddOp>(launch.getBodyBlock().front()))
    return emitAdds(b, device);
  if (emitCodes(b, device))
    return;
  if (launch.getFamily() == KernelFamily::line)
    return emitLines(b, device);
  if (launch.getFamily() == KernelFamily::groupedContraction) {
    b.setInsertionPoint(device.getBody(), --device.getBody()->end());
    auto kernel = emitDeviceGrouped(b, "grouped", launch);
    ASSERT_TRUE(succeeded(kernel));
    return add(*kernel, /*takesArena=*/false);
  }
  std::vector<Emitter> emitters = options.laterStages;
  emitters.insert(emitters.begin(), emit);
  for (Emitter emitter : emitters) {
    if (emitter == emitWeightSums)
      continue; // a GPU's kernel has no partial sums of a weight's gradient
    std::string name = "kernel" + std::to_string(stages.size());
    b.setInsertionPoint(device.getBody(), --device.getBody()->end());
    const auto *counterpart = llvm::find_if(
        counterparts, [&](const Counterpart &c) { return c.cpu == emitter; });
    if (counterpart != std::end(counterparts)) {
      auto kernel = counterpart->gpu(b, name, launch);
      ASSERT_TRUE(succeeded(kernel));
      add(*kernel, counterpart->takesArena);
      continue;
    }
    FailureOr<Kernel> kernel = emitter(b, name, launch);
    ASSERT_TRUE(succeeded(kernel));
    add(emitItems(b, *kernel), /*takesArena=*/false);
  }
}

DeviceRunner::DeviceRunner(Emitter emit, const std::string &text,
                           const CaseOptions &options)
    : launchCase(text, options), options(options),
      arguments(argumentsOf(launchCase.func, options)) {
  launchCase.context->loadDialect<gpu::GPUDialect>();
  plan::LaunchOp launch = launchCase.launch;
  for (Value buffer : launch->getOperands()) {
    offsets.push_back(plan::arenaOffset(buffer));
    auto type = cast<MemRefType>(buffer.getType());
    sizes.push_back(byteSize(type));
  }
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    auto type =
        cast<RankedTensorType>(launchCase.func.getArgumentTypes()[index]);
    sizes[index] = pitchedBytes(argument, pitchOf(options, index, type));
  }
  firstOutput = launch.getInputs().size();
  outputs = launch.getOutputs().size();
  raised = hone::test::raisedBuffers(launch);
  emitAll(emit);
  launch->getParentOfType<plan::ProgramOp>().erase();
  launchCase.func.erase();
  jit = std::make_unique<DeviceJit>(*launchCase.module);
}

std::vector<std::vector<char>> DeviceRunner::run(uint64_t seed) {
  constexpr size_t alignment = 64;
  // NaNs of every type, so that what is read without being written shows.
  std::vector<char> memory(launchCase.arenaBytes + alignment, char(0xFF));
  auto start = reinterpret_cast<uintptr_t>(memory.data());
  char *arena = reinterpret_cast<char *>(llvm::alignTo(start, alignment));
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    int64_t row = argument.rank() == 0 ? 1 : argument.shape().back();
    int64_t pitch = row;
    for (auto [pitched, elements] : options.rowPitch)
      if (pitched == index)
        pitch = elements;
    writeRows(argument, pitch, arena + offsets[index]);
  }
  for (size_t index : raised)
    std::fill_n(arena + offsets[index], sizes[index], 0);
  std::vector<DeviceBuffer> buffers;
  for (auto [offset, size] : llvm::zip(offsets, sizes))
    buffers.push_back({arena + offset, size});
  for (const Stage &stage : stages) {
    if (stage.blocks == 0)
      continue;
    std::vector<DeviceBuffer> whole = {{arena, launchCase.arenaBytes}};
    EXPECT_EQ(jit->run(stage.name, stage.blocks, stage.threads,
                       stage.takesArena ? whole : buffers, seed),
              "");
  }
  std::vector<std::vector<char>> results;
  for (size_t index = firstOutput; index != firstOutput + outputs; ++index)
    results.emplace_back(arena + offsets[index],
                         arena + offsets[index] + sizes[index]);
  return results;
}

/// Whether a GPU has code for every op: it has no functions in f64.
static bool hasDeviceCode(plan::LaunchOp launch) {
  return llvm::none_of(launch.getBodyBlock(), [](Operation &op) {
    bool isFunction =
        isa<ExpOp, LogOp, TanhOp, ErfOp, LogisticOp, SinOp, CosOp, GeluOp,
            GeluBwdOp, PowOp, RandomOp, Expm1Op, Log1pOp, AtanOp>(op);
    return isFunction && getElementTypeOrSelf(op.getResult(0)).isF64();
  });
}

std::vector<std::vector<char>>
hone::test::expectOnDevice(Emitter emit, const std::string &text,
                           const CaseOptions &options,
                           const interp::Tensors &expected) {
  LaunchCase reference(text, options);
  if (!hasDeviceCode(reference.launch))
    return {};
  DeviceRunner runner(emit, text, options);
  std::vector<std::vector<char>> results = runner.run(/*seed=*/0);
  for (auto [index, bytes] : llvm::enumerate(results))
    expectNear(tensorFrom(bytes, reference.func.getResultTypes()[index]),
               expected[index], options.tolerance,
               "on a GPU, output " + std::to_string(index));
  EXPECT_TRUE(runner.run(/*seed=*/1) == results) << "orders of threads differ";
  return results;
}

void hone::test::expectLikeInterpreterOnDevice(Emitter emit,
                                               const std::string &text,
                                               const CaseOptions &options) {
  SCOPED_TRACE(text);
  interp::Tensors expected = interpretCase(text, options);
  EXPECT_FALSE(expectOnDevice(emit, text, options, expected).empty());
}
