//===- KernelCase.cpp - Kernels against the interpreter -------------------===//

#include "KernelCase.h"

#include "DeviceRun.h"
#include "Jit.h"
#include "LaunchCase.h"

#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace hone;
using namespace hone::test;

namespace {
constexpr size_t canary = 256;

/// Bytes with canaries on both sides, 64-byte aligned.
struct Memory {
  explicit Memory(size_t size)
      : size(size), all(size + 3 * canary, char(0xA5)) {
    auto address = reinterpret_cast<uintptr_t>(all.data()) + canary;
    data = reinterpret_cast<char *>((address + 63) / 64 * 64);
  }
  Memory(const Memory &) = delete;
  bool canariesLive() const {
    auto isCanary = [](char byte) { return byte == char(0xA5); };
    return std::all_of(all.data(), static_cast<const char *>(data), isCanary) &&
           std::all_of(static_cast<const char *>(data) + size,
                       all.data() + all.size(), isCanary);
  }
  size_t size;
  std::vector<char> all;
  char *data;
};

} // namespace

std::string hone::test::refusalOf(Emitter emit, const std::string &text,
                                  const CaseOptions &options) {
  LaunchCase kernelCase(text, options);
  std::string message;
  ScopedDiagnosticHandler handler(kernelCase.context.get(),
                                  [&](Diagnostic &diagnostic) {
                                    message = diagnostic.str();
                                    return success();
                                  });
  if (succeeded(kernelCase.emit(emit)))
    return "";
  return message;
}

namespace {
/// The kernel of a case as machine code.
class Runner {
public:
  Runner(Emitter emit, const std::string &text, const CaseOptions &options,
         const std::string &arch = "native")
      : kernelCase(text, options), options(options),
        arguments(argumentsOf(kernelCase.func, options)),
        argumentTypes(kernelCase.func.getArgumentTypes()),
        results(kernelCase.func.getResultTypes()) {
    std::vector<Emitter> emitters = options.laterStages;
    emitters.insert(emitters.begin(), emit);
    for (auto [stage, emitter] : llvm::enumerate(emitters)) {
      std::string name = "kernel" + std::to_string(stage);
      FailureOr<Kernel> kernel = kernelCase.emit(emitter, name);
      if (failed(kernel)) {
        ADD_FAILURE() << "the emitter refuses";
        std::abort();
      }
      EXPECT_GE(kernel->grain, 1);
      stageItems.push_back(kernel->items);
      OpBuilder builder = OpBuilder::atBlockEnd(kernelCase.module->getBody());
      declareEntry(builder, *kernel);
    }
    items = stageItems.front();
    raised = raisedBuffers(kernelCase.launch);
    for (Value buffer : kernelCase.launch.getScratch())
      scratch.push_back(cast<MemRefType>(buffer.getType()));
    kernelCase.launch->getParentOfType<plan::ProgramOp>().erase();
    kernelCase.func.erase();
    jit = std::make_unique<Jit>(*kernelCase.module, arch);
  }

  /// Outputs after [cuts[0], cuts[1]), ... on fresh memory.
  std::vector<std::vector<char>> run(ArrayRef<int64_t> cuts) {
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<void *> buffers;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      auto type = cast<RankedTensorType>(argumentTypes[index]);
      int64_t pitch = pitchOf(options, index, type);
      memory.push_back(std::make_unique<Memory>(pitchedBytes(argument, pitch)));
      writeRows(argument, pitch, memory.back()->data);
      buffers.push_back(memory.back()->data);
    }
    for (auto [index, type] : llvm::enumerate(results)) {
      memory.push_back(std::make_unique<Memory>(byteSize(type)));
      buffers.push_back(memory.back()->data);
      for (auto [input, output] : options.inPlace)
        if (output == index)
          buffers.back() = buffers[input];
    }
    for (MemRefType type : scratch) {
      memory.push_back(std::make_unique<Memory>(byteSize(type)));
      buffers.push_back(memory.back()->data);
    }
    for (size_t index : raised)
      std::fill_n(memory[index]->data, memory[index]->size, 0);
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      jit->callEntry("kernel0", buffers, cuts[i], cuts[i + 1]);
    for (size_t stage = 1; stage < stageItems.size(); ++stage)
      jit->callEntry("kernel" + std::to_string(stage), buffers, 0,
                     stageItems[stage]);
    for (const auto &part : memory)
      EXPECT_TRUE(part->canariesLive()) << "writes outside of its buffers";
    std::vector<std::vector<char>> outputs;
    for (auto [index, type] : llvm::enumerate(results)) {
      auto *begin = static_cast<char *>(buffers[arguments.size() + index]);
      outputs.emplace_back(begin, begin + byteSize(type));
    }
    return outputs;
  }

  LaunchCase kernelCase;
  CaseOptions options;
  interp::Tensors arguments;
  SmallVector<Type> argumentTypes, results;
  SmallVector<MemRefType> scratch;
  SmallVector<int64_t> stageItems;
  std::vector<size_t> raised; ///< buffers that are 0 before
  int64_t items;              // of the first stage
  std::unique_ptr<Jit> jit;
};
} // namespace

interp::Tensors hone::test::runKernel(Emitter emit, const std::string &text,
                                      const CaseOptions &options) {
  Runner runner(emit, text, options);
  interp::Tensors tensors;
  for (auto [bytes, type] :
       llvm::zip(runner.run({0, runner.items}), runner.results))
    tensors.push_back(tensorFrom(bytes, type));
  return tensors;
}

static bool isNarrow(Type type) {
  return isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(type));
}

void hone::test::expectLikeInterpreter(Emitter emit, const std::string &text,
                                       const CaseOptions &options) {
  SCOPED_TRACE(text);
  interp::Tensors expected = interpretCase(text, options);
  std::vector<std::vector<char>> onDevice =
      expectOnDevice(emit, text, options, expected);
  Runner runner(emit, text, options);
  int64_t items = runner.items;
  std::vector<std::vector<char>> whole = runner.run({0, items});
  for (auto [index, bytes] : llvm::enumerate(whole))
    expectNear(tensorFrom(bytes, runner.results[index]), expected[index],
               options.tolerance, "output " + std::to_string(index));

  if (options.equalOnDevice && !onDevice.empty())
    EXPECT_TRUE(onDevice == whole) << "bits of a GPU differ";

  // In two pieces and in many, the same bits.
  std::mt19937 random(items);
  SmallVector<int64_t> halves = {0, int64_t(random() % (items + 1)), items};
  SmallVector<int64_t> many = {0};
  while (many.back() < items)
    many.push_back(std::min<int64_t>(
        items, many.back() + 1 + int64_t(random() % (1 + items / 5))));
  EXPECT_TRUE(runner.run(halves) == whole) << "two pieces differ";
  EXPECT_TRUE(runner.run(many) == whole || items == 0) << "pieces differ";

  // The same bits too from a CPU that has no instruction for a narrow type.
  if (llvm::none_of(runner.argumentTypes, isNarrow) &&
      llvm::none_of(runner.results, isNarrow))
    return;
  Runner plain(emit, text, options, "x86-64-v3");
  EXPECT_TRUE(plain.run({0, items}) == whole) << "x86-64-v3 differs";
}
