//===- KernelCase.cpp - Kernels against the interpreter -------------------===//

#include "KernelCase.h"
#include "Jit.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace hone;
using namespace hone::test;
using interp::Tensor;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

static const llvm::fltSemantics &semanticsOf(interp::Element element) {
  switch (element) {
  case interp::Element::F64:
    return llvm::APFloat::IEEEdouble();
  case interp::Element::BF16:
    return llvm::APFloat::BFloat();
  case interp::Element::F16:
    return llvm::APFloat::IEEEhalf();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

std::vector<char> hone::test::bytesOf(const Tensor &tensor) {
  int64_t width = interp::byteWidth(tensor.element());
  std::vector<char> bytes(tensor.size() * width);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits;
    if (tensor.isFloat()) {
      llvm::APFloat value(tensor.floats()[i]);
      bool lost;
      value.convert(semanticsOf(tensor.element()),
                    llvm::APFloat::rmNearestTiesToEven, &lost);
      bits = value.bitcastToAPInt().getZExtValue();
    } else {
      bits = tensor.ints()[i];
    }
    std::memcpy(&bytes[i * width], &bits, width); // little-endian
  }
  return bytes;
}

Tensor hone::test::tensorFrom(const std::vector<char> &bytes, Type type) {
  auto shaped = cast<ShapedType>(type);
  interp::Element element = *interp::elementOf(shaped.getElementType());
  int64_t width = interp::byteWidth(element);
  std::vector<double> floats;
  std::vector<int64_t> ints;
  for (int64_t i = 0; i < shaped.getNumElements(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * width], width);
    if (interp::isFloat(element)) {
      llvm::APFloat value(semanticsOf(element), llvm::APInt(8 * width, bits));
      bool lost;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &lost);
      floats.push_back(value.convertToDouble());
    } else {
      EXPECT_TRUE(element != interp::Element::I1 || bits <= 1)
          << "boolean byte " << bits;
      ints.push_back(llvm::SignExtend64(bits, 8 * width));
    }
  }
  if (interp::isFloat(element))
    return Tensor::floats(element, shaped.getShape(), floats,
                          interp::Mode::F64);
  return Tensor::ints(element, shaped.getShape(), ints);
}

void hone::test::expectNear(const Tensor &actual, const Tensor &expected,
                            double tolerance, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size());
  int failures = 0;
  for (int64_t i = 0; i < actual.size() && failures < 3; ++i) {
    double got = actual.number(i), want = expected.number(i);
    bool same = got == want || (std::isnan(got) && std::isnan(want)) ||
                std::abs(got - want) <= tolerance * (1 + std::abs(want));
    failures += !same;
    EXPECT_TRUE(same) << what << " element " << i << " is " << got
                      << ", expected " << want;
  }
}

/// Random elements, some of them the same and some of them large.
static Tensor randomTensor(RankedTensorType type, int64_t bound,
                           std::mt19937 &random) {
  interp::Element element = *interp::elementOf(type.getElementType());
  int64_t count = type.getNumElements();
  if (interp::isFloat(element)) {
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (double &value : values)
      value = random() % 8 == 0 ? double(int64_t(random() % 7) - 3)
                                : normal(random);
    return Tensor::floats(element, type.getShape(), values,
                          interp::Mode::Typed);
  }
  std::vector<int64_t> values(count);
  for (int64_t &value : values)
    value = random() % bound;
  return Tensor::ints(element, type.getShape(), values);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

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

/// Elements between rows of an argument's buffer.
int64_t pitchOf(const CaseOptions &options, unsigned argument,
                RankedTensorType type) {
  for (auto [pitched, elements] : options.rowPitch)
    if (pitched == argument)
      return elements;
  return type.getRank() == 0 ? 1 : type.getShape().back();
}

MemRefType bufferType(RankedTensorType type, int64_t pitch) {
  if (type.getRank() == 0 || pitch == type.getShape().back())
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t dim = type.getRank() - 2, next = pitch; dim >= 0; --dim) {
    strides[dim] = next;
    next *= type.getShape()[dim];
  }
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

/// A module with the case, a launch of it and, after emit, its kernel.
struct Case {
  Case(const std::string &text, const CaseOptions &options);
  FailureOr<Kernel> emit(Emitter emitter, StringRef name = "kernel") {
    OpBuilder builder(module->getContext());
    builder.setInsertionPointToEnd(module->getBody());
    return emitter(builder, name, launch);
  }

  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module;
  func::FuncOp func;
  plan::LaunchOp launch;
};
} // namespace

Case::Case(const std::string &text, const CaseOptions &options) {
  module = parseSourceString<ModuleOp>(text, context.get());
  if (!module) {
    ADD_FAILURE() << "does not parse: " << text;
    std::abort();
  }
  func = *module->getOps<func::FuncOp>().begin();
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  Location loc = b.getUnknownLoc();
  int64_t end = 0;
  auto program = b.create<plan::ProgramOp>(loc, "program", int64_t(1) << 40,
                                           DictionaryAttr());
  b.createBlock(&program.getBody());
  auto function = b.create<plan::FunctionOp>(loc, "step");
  b.createBlock(&function.getBody());
  auto buffer = [&](MemRefType type, std::optional<int64_t> at) -> Value {
    if (!at) {
      at = end;
      end += int64_t(1) << 30;
    }
    return b.create<plan::BufferOp>(loc, type, b.getI64IntegerAttr(*at),
                                    plan::PurposeAttr());
  };
  SmallVector<Value> inputs, outputs;
  for (auto [index, type] : llvm::enumerate(func.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t pitch = pitchOf(options, index, tensor);
    inputs.push_back(buffer(bufferType(tensor, pitch), {}));
  }
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    std::optional<int64_t> at;
    for (auto [input, output] : options.inPlace)
      if (output == index)
        at = inputs[input].getDefiningOp<plan::BufferOp>().getOffset();
    auto tensor = cast<RankedTensorType>(type);
    outputs.push_back(buffer(
        MemRefType::get(tensor.getShape(), tensor.getElementType()), at));
  }
  SmallVector<Value> scratch;
  if (options.scratch > 0)
    scratch.push_back(
        buffer(MemRefType::get({options.scratch}, b.getF32Type()), {}));
  launch =
      b.create<plan::LaunchOp>(loc, options.family, inputs, outputs, scratch);
  IRMapping mapping;
  func.getBody().cloneInto(&launch.getBody(), mapping);
  Operation *end_ = launch.getBodyBlock().getTerminator();
  b.setInsertionPoint(end_);
  b.create<plan::YieldOp>(loc, end_->getOperands());
  end_->erase();
}

std::string hone::test::refusalOf(Emitter emit, const std::string &text,
                                  const CaseOptions &options) {
  Case kernelCase(text, options);
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

static interp::Tensors argumentsOf(func::FuncOp func,
                                   const CaseOptions &options) {
  std::mt19937 random(func.getNumArguments());
  interp::Tensors arguments;
  for (Type type : func.getArgumentTypes())
    arguments.push_back(
        randomTensor(cast<RankedTensorType>(type), options.idBound, random));
  for (const auto &[argument, elements] : options.data) {
    Tensor &tensor = arguments[argument];
    EXPECT_EQ(int64_t(elements.size()), tensor.size());
    if (tensor.isFloat())
      tensor = Tensor::floats(tensor.element(), tensor.shape(), elements,
                              interp::Mode::Typed);
    else
      tensor =
          Tensor::ints(tensor.element(), tensor.shape(),
                       std::vector<int64_t>(elements.begin(), elements.end()));
  }
  return arguments;
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
    kernelCase.launch->getParentOfType<plan::ProgramOp>().erase();
    kernelCase.func.erase();
    jit = std::make_unique<Jit>(*kernelCase.module, arch);
  }

  /// Outputs after [cuts[0], cuts[1]), ... on fresh memory.
  std::vector<std::vector<char>> run(ArrayRef<int64_t> cuts) {
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<void *> buffers;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      std::vector<char> bytes = bytesOf(argument);
      int64_t row = argument.rank() == 0 ? 1 : argument.shape().back();
      auto type = cast<RankedTensorType>(argumentTypes[index]);
      int64_t pitch = pitchOf(options, index, type);
      int64_t rows = row == 0 ? 0 : argument.size() / row;
      int64_t width = interp::byteWidth(argument.element());
      memory.push_back(std::make_unique<Memory>(rows * pitch * width));
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(bytes.data() + i * row * width, row * width,
                    memory.back()->data + i * pitch * width);
      buffers.push_back(memory.back()->data);
    }
    for (auto [index, type] : llvm::enumerate(results)) {
      memory.push_back(std::make_unique<Memory>(byteSize(type)));
      buffers.push_back(memory.back()->data);
      for (auto [input, output] : options.inPlace)
        if (output == index)
          buffers.back() = buffers[input];
    }
    Memory scratch(options.scratch * sizeof(float));
    if (options.scratch > 0)
      buffers.push_back(scratch.data);
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      jit->callEntry("kernel0", buffers, cuts[i], cuts[i + 1]);
    for (size_t stage = 1; stage < stageItems.size(); ++stage)
      jit->callEntry("kernel" + std::to_string(stage), buffers, 0,
                     stageItems[stage]);
    EXPECT_TRUE(scratch.canariesLive()) << "writes outside of its scratch";
    for (const auto &part : memory)
      EXPECT_TRUE(part->canariesLive()) << "writes outside of its buffers";
    std::vector<std::vector<char>> outputs;
    for (auto [index, type] : llvm::enumerate(results)) {
      auto *begin = static_cast<char *>(buffers[arguments.size() + index]);
      outputs.emplace_back(begin, begin + byteSize(type));
    }
    return outputs;
  }

  Case kernelCase;
  CaseOptions options;
  interp::Tensors arguments;
  SmallVector<Type> argumentTypes, results;
  SmallVector<int64_t> stageItems;
  int64_t items; // of the first stage
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

/// Whether arguments or results are bf16 or f16.
static bool hasNarrowTypes(func::FuncOp func) {
  auto isNarrow = [](Type type) {
    return isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(type));
  };
  return llvm::any_of(func.getArgumentTypes(), isNarrow) ||
         llvm::any_of(func.getResultTypes(), isNarrow);
}

void hone::test::expectLikeInterpreter(Emitter emit, const std::string &text,
                                       const CaseOptions &options) {
  SCOPED_TRACE(text);
  Case reference(text, options);
  FailureOr<interp::Tensors> expected =
      interp::interpret(reference.func, argumentsOf(reference.func, options));
  ASSERT_TRUE(succeeded(expected));

  Runner runner(emit, text, options);
  int64_t items = runner.items;
  std::vector<std::vector<char>> whole = runner.run({0, items});
  for (auto [index, bytes] : llvm::enumerate(whole))
    expectNear(tensorFrom(bytes, runner.results[index]), (*expected)[index],
               options.tolerance, "output " + std::to_string(index));

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
  if (!hasNarrowTypes(reference.func))
    return;
  Runner plain(emit, text, options, "x86-64-v3");
  EXPECT_TRUE(plain.run({0, items}) == whole) << "x86-64-v3 differs";
}
