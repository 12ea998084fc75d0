//===- LaunchCase.cpp - A launch made from a function ---------------------===//

#include "LaunchCase.h"

#include "Jit.h"
#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"
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
  case interp::Element::E4M3:
    return llvm::APFloat::Float8E4M3FN();
  case interp::Element::E5M2:
    return llvm::APFloat::Float8E5M2();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

/// A number of type `element` as its bits. APFloat takes most of a test's time
/// where the compiler's own types would do.
static uint64_t bitsOf(double number, interp::Element element) {
  if (element == interp::Element::F64)
    return llvm::bit_cast<uint64_t>(number);
  if (element == interp::Element::F32)
    return llvm::bit_cast<uint32_t>(static_cast<float>(number));
  llvm::APFloat value(number);
  bool lost;
  value.convert(semanticsOf(element), llvm::APFloat::rmNearestTiesToEven,
                &lost);
  return value.bitcastToAPInt().getZExtValue();
}

/// The number that `bits` are in type `element`, which has `width` bytes.
static double numberOf(uint64_t bits, interp::Element element, int64_t width) {
  if (element == interp::Element::F64)
    return llvm::bit_cast<double>(bits);
  if (element == interp::Element::F32)
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
  llvm::APFloat value(semanticsOf(element), llvm::APInt(8 * width, bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &lost);
  return value.convertToDouble();
}

std::vector<char> hone::test::bytesOf(const Tensor &tensor) {
  int64_t width = interp::byteWidth(tensor.element()), size = tensor.size();
  std::vector<char> bytes(size * width);
  for (int64_t i = 0; i < size; ++i) {
    uint64_t bits = tensor.isFloat()
                        ? bitsOf(tensor.floats()[i], tensor.element())
                        : tensor.ints()[i];
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
      floats.push_back(numberOf(bits, element, width));
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

std::vector<size_t> hone::test::raisedBuffers(plan::LaunchOp launch) {
  std::vector<size_t> raised;
  Operation *yield = launch.getBodyBlock().getTerminator();
  for (auto [number, yielded] : llvm::enumerate(yield->getOperands()))
    if (yielded.getDefiningOp<AmaxOp>())
      raised.push_back(launch.getInputs().size() + number);
  return raised;
}

int64_t hone::test::pitchOf(const CaseOptions &options, unsigned argument,
                            RankedTensorType type) {
  for (auto [pitched, elements] : options.rowPitch)
    if (pitched == argument)
      return elements;
  return type.getRank() == 0 ? 1 : type.getShape().back();
}

static MemRefType bufferType(RankedTensorType type, int64_t pitch) {
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

/// Bytes from the first element of a buffer to its last row's end.
static int64_t memoryBytes(MemRefType type) {
  int64_t elements = type.getNumElements();
  if (elements > 0 && !type.getLayout().isIdentity())
    elements = getStridesAndOffset(type).first.front() * type.getDimSize(0);
  return elements * elementByteWidth(type.getElementType());
}

/// Between buffers of the arena.
static constexpr int64_t gap = 256;

int64_t hone::test::pitchedBytes(const Tensor &tensor, int64_t pitch) {
  int64_t row = tensor.rank() == 0 ? 1 : tensor.shape().back();
  int64_t rows = row == 0 ? 0 : tensor.size() / row;
  return rows * pitch * interp::byteWidth(tensor.element());
}

void hone::test::writeRows(const Tensor &tensor, int64_t pitch, char *buffer) {
  std::vector<char> bytes = bytesOf(tensor);
  int64_t row = tensor.rank() == 0 ? 1 : tensor.shape().back();
  int64_t rows = row == 0 ? 0 : tensor.size() / row;
  int64_t width = interp::byteWidth(tensor.element());
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(bytes.data() + i * row * width, row * width,
                buffer + i * pitch * width);
}

/// What the plan would give the launch as scratch.
static SmallVector<MemRefType> plannedScratch(func::FuncOp func,
                                              const CaseOptions &options) {
  Type f32 = Float32Type::get(func.getContext());
  if (options.scratch > 0)
    return {MemRefType::get({options.scratch}, f32)};
  SmallVector<MemRefType> types;
  Block &body = func.getBody().front();
  for (auto scatter : body.getOps<EmbeddingBwdOp>())
    return TokenSort::of(scatter).scratch(func.getContext());
  if (std::optional<LineSort> sort = LineSort::of(&body.front()))
    return sort->scratch();
  if (!body.getOps<QuantizeOp>().empty())
    for (auto sum : body.getOps<ReduceOp>())
      types.push_back(codeSums(sum));
  if (options.chunks == 0)
    return types;
  RowSpace space = *RowSpace::of(body);
  int64_t chunks = numChunks(space.rows(), options.chunks);
  for (Value result : body.getTerminator()->getOperands()) {
    if (space.role(result) == Role::ColumnSum)
      types.push_back(MemRefType::get({chunks, space.cols()}, f32));
    else if (space.role(result) == Role::TotalSum)
      types.push_back(MemRefType::get({chunks}, f32));
  }
  return types;
}

LaunchCase::LaunchCase(const std::string &text, const CaseOptions &options)
    : context(makeContext()) {
  module = parseSourceString<ModuleOp>(text, context.get());
  if (!module) {
    ADD_FAILURE() << "does not parse: " << text;
    std::abort();
  }
  func = *module->getOps<func::FuncOp>().begin();
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  Location loc = b.getUnknownLoc();
  auto program =
      b.create<plan::ProgramOp>(loc, "program", int64_t(1) << 40,
                                DictionaryAttr(), IntegerAttr(), IntegerAttr());
  b.createBlock(&program.getBody());
  auto function = b.create<plan::FunctionOp>(loc, "step");
  b.createBlock(&function.getBody());
  auto buffer = [&](MemRefType type, std::optional<int64_t> at) -> Value {
    if (!at) {
      at = arenaBytes + options.shift * elementByteWidth(type.getElementType());
      arenaBytes += llvm::alignTo(memoryBytes(type), 64) + gap;
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
  for (MemRefType type : plannedScratch(func, options))
    scratch.push_back(buffer(type, {}));
  launch =
      b.create<plan::LaunchOp>(loc, options.family, inputs, outputs, scratch);
  IRMapping mapping;
  func.getBody().cloneInto(&launch.getBody(), mapping);
  Operation *terminator = launch.getBodyBlock().getTerminator();
  b.setInsertionPoint(terminator);
  b.create<plan::YieldOp>(loc, terminator->getOperands());
  terminator->erase();
}

/// Random arguments. A case asks for them several times in a row, and they take
/// longer to draw than a kernel does.
static const interp::Tensors &randomArguments(FunctionType function,
                                              int64_t idBound) {
  static std::string last;
  static interp::Tensors arguments;
  std::string key;
  llvm::raw_string_ostream(key) << function << " below " << idBound;
  if (key == last)
    return arguments;
  last = key;
  arguments.clear();
  std::mt19937 random(function.getNumInputs());
  for (Type type : function.getInputs())
    arguments.push_back(
        randomTensor(cast<RankedTensorType>(type), idBound, random));
  return arguments;
}

interp::Tensors hone::test::argumentsOf(func::FuncOp func,
                                        const CaseOptions &options) {
  interp::Tensors arguments =
      randomArguments(func.getFunctionType(), options.idBound);
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

interp::Tensors hone::test::interpretCase(const std::string &text,
                                          const CaseOptions &options) {
  LaunchCase launchCase(text, options);
  FailureOr<interp::Tensors> results =
      interp::interpret(launchCase.func, argumentsOf(launchCase.func, options));
  if (failed(results)) {
    ADD_FAILURE() << "the interpreter refuses";
    std::abort();
  }
  return *results;
}
