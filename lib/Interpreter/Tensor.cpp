//===- Tensor.cpp - Plain tensors of the interpreter ----------------------===//

#include "hone/Interpreter/Tensor.h"

#include "base/Fp8.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace hone::interp;

static bool isFp8(Element element) {
  return element == Element::E4M3 || element == Element::E5M2;
}

bool hone::interp::isFloat(Element element) {
  return element <= Element::F16 || ::isFp8(element);
}

std::optional<Element> hone::interp::elementOf(Type type) {
  if (type.isF32())
    return Element::F32;
  if (type.isF64())
    return Element::F64;
  if (type.isBF16())
    return Element::BF16;
  if (type.isF16())
    return Element::F16;
  if (type.isSignlessInteger(64))
    return Element::I64;
  if (type.isSignlessInteger(32))
    return Element::I32;
  if (type.isSignlessInteger(8))
    return Element::I8;
  if (type.isSignlessInteger(1))
    return Element::I1;
  if (isa<Float8E4M3FNType>(type))
    return Element::E4M3;
  if (isa<Float8E5M2Type>(type))
    return Element::E5M2;
  return std::nullopt;
}

StringRef hone::interp::nameOf(Element element) {
  static constexpr StringLiteral names[] = {"f32",      "f64",   "bf16", "f16",
                                            "i64",      "i32",   "i8",   "i1",
                                            "f8E4M3FN", "f8E5M2"};
  return names[size_t(element)];
}

int64_t hone::interp::byteWidth(Element element) {
  static constexpr int64_t widths[] = {4, 8, 2, 2, 8, 4, 1, 1, 1, 1};
  return widths[size_t(element)];
}

double hone::interp::roundTo(Element element, double value, Mode mode) {
  if (mode == Mode::F64 || element == Element::F64)
    return value;
  if (element == Element::F32)
    return float(value);
  if (std::isnan(value))
    return value;
  if (::isFp8(element)) {
    auto format = element == Element::E4M3 ? honert::Fp8Format::e4m3
                                           : honert::Fp8Format::e5m2;
    return decodeFp8(format, encodeFp8(format, value));
  }
  APFloat rounded(value);
  bool lost;
  rounded.convert(element == Element::BF16 ? APFloat::BFloat()
                                           : APFloat::IEEEhalf(),
                  APFloat::rmNearestTiesToEven, &lost);
  return rounded.convertToDouble();
}

double hone::interp::moved(Element element, double value, int64_t place) {
  double rounded = roundTo(element, value, Mode::Typed);
  if (element == Element::F64 || ::isFp8(element))
    return rounded; // the numbers that are coded have moved
  uint64_t mixed = (llvm::bit_cast<uint64_t>(rounded) ^ uint64_t(place) << 1) *
                   0x9e3779b97f4a7c15u;
  double step = element == Element::F32    ? 0x1p-23
                : element == Element::BF16 ? 0x1p-7
                                           : 0x1p-10;
  return roundTo(element, rounded * (mixed >> 63 ? 1 + step : 1 - step),
                 Mode::Typed);
}

int64_t hone::interp::wrapTo(Element element, int64_t value) {
  switch (element) {
  case Element::I32:
    return int32_t(value);
  case Element::I8:
    return int8_t(value);
  case Element::I1:
    return value & 1;
  default:
    return value;
  }
}

int64_t hone::interp::elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size == 0)
      return 0;
  // A count beyond 64 bits stays the largest number: no memory holds it.
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      return std::numeric_limits<int64_t>::max();
  return count;
}

Shape hone::interp::stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

Tensor Tensor::floats(Element element, ArrayRef<int64_t> shape,
                      std::vector<double> values, Mode mode) {
  assert(interp::isFloat(element) &&
         int64_t(values.size()) == elementCount(shape));
  if (mode != Mode::F64 && element != Element::F64)
    for (auto [place, value] : llvm::enumerate(values))
      value = mode == Mode::Moved ? moved(element, value, place)
                                  : roundTo(element, value, mode);
  Tensor tensor;
  tensor.elementType = element;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.floatData =
      std::make_shared<const std::vector<double>>(std::move(values));
  return tensor;
}

Tensor Tensor::ints(Element element, ArrayRef<int64_t> shape,
                    std::vector<int64_t> values) {
  assert(!interp::isFloat(element) &&
         int64_t(values.size()) == elementCount(shape));
  if (element != Element::I64)
    for (int64_t &value : values)
      value = wrapTo(element, value);
  Tensor tensor;
  tensor.elementType = element;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.intData =
      std::make_shared<const std::vector<int64_t>>(std::move(values));
  return tensor;
}

double Tensor::number(int64_t index) const {
  return isFloat() ? floats()[index] : double(ints()[index]);
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  assert(elementCount(shape) == size());
  Tensor tensor = *this;
  tensor.dims.assign(shape.begin(), shape.end());
  return tensor;
}

std::string Tensor::typeName() const {
  std::string name = "tensor<";
  for (int64_t size : dims)
    name += std::to_string(size) + "x";
  return name + nameOf(elementType).str() + ">";
}

static void printElement(llvm::raw_ostream &os, const Tensor &tensor,
                         int64_t index) {
  if (tensor.element() == Element::I1)
    os << (tensor.ints()[index] ? "true" : "false");
  else if (!tensor.isFloat())
    os << tensor.ints()[index];
  else if (std::isnan(tensor.floats()[index]))
    os << "nan"; // the sign of a NaN means nothing
  else
    os << llvm::format("%.9g", tensor.floats()[index]);
}

/// Prints the elements from `position` on that dimension `dim` and later ones
/// range over.
static void printDim(llvm::raw_ostream &os, const Tensor &tensor, int64_t dim,
                     int64_t position) {
  if (dim == tensor.rank())
    return printElement(os, tensor, position);
  int64_t stride = elementCount(tensor.shape().drop_front(dim + 1));
  os << "[";
  for (int64_t index = 0; index != tensor.shape()[dim]; ++index) {
    os << (index ? ", " : "");
    printDim(os, tensor, dim + 1, position + index * stride);
  }
  os << "]";
}

void Tensor::printElements(llvm::raw_ostream &os) const {
  printDim(os, *this, 0, 0);
}

llvm::Expected<Tensor> hone::interp::tensorOf(ElementsAttr value, Mode mode) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  std::optional<Element> element = elementOf(value.getElementType());
  if (!dense || !element)
    return llvm::createStringError(
        "value is neither a dense nor a splat constant, expected one");
  ArrayRef<int64_t> shape = value.getShapedType().getShape();
  size_t count = elementCount(shape);
  if (isFloat(*element)) {
    // Large tables are of f32: an APFloat per element takes longer than most
    // ops.
    if (*element == Element::F32) {
      auto numbers = dense.getValues<float>();
      return Tensor::floats(*element, shape, {numbers.begin(), numbers.end()},
                            mode);
    }
    std::vector<double> values;
    values.reserve(count);
    for (const APFloat &number : dense.getValues<APFloat>()) {
      APFloat wide = number;
      bool lost;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      values.push_back(wide.convertToDouble());
    }
    return Tensor::floats(*element, shape, std::move(values), mode);
  }
  std::vector<int64_t> values;
  values.reserve(count);
  for (const APInt &number : dense.getValues<APInt>())
    values.push_back(*element == Element::I1 ? number.getZExtValue()
                                             : number.getSExtValue());
  return Tensor::ints(*element, shape, std::move(values));
}
