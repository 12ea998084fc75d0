//===- ArenaTensors.cpp - Tensors in memory, natural layout ---------------===//

#include "ArenaTensors.h"

#include "llvm/ADT/APFloat.h"

#include <cstring>

using namespace hone;
using namespace hone::interp;

Element run::stored(Element element, Mode mode) {
  return mode == Mode::F64 && isFloat(element) ? Element::F64 : element;
}

/// Copies elements of type T from `memory` and widens them.
template <typename T, typename To>
static std::vector<To> widen(const char *memory, int64_t count) {
  std::vector<T> values(count);
  if (count != 0)
    std::memcpy(values.data(), memory, count * sizeof(T));
  return {values.begin(), values.end()};
}

/// The reverse; a wider value fits, since tensors hold rounded elements.
template <typename T, typename From>
static void narrow(char *memory, llvm::ArrayRef<From> from) {
  std::vector<T> values;
  values.reserve(from.size());
  for (From value : from)
    values.push_back(T(value));
  if (!values.empty())
    std::memcpy(memory, values.data(), values.size() * sizeof(T));
}

static const llvm::fltSemantics &semantics(Element element) {
  return element == Element::BF16 ? llvm::APFloat::BFloat()
                                  : llvm::APFloat::IEEEhalf();
}

static std::vector<double> widenHalf(const char *memory, Element element,
                                     int64_t count) {
  std::vector<double> values;
  for (uint16_t bits : widen<uint16_t, uint16_t>(memory, count)) {
    llvm::APFloat value(semantics(element), llvm::APInt(16, bits));
    bool lost;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &lost);
    values.push_back(value.convertToDouble());
  }
  return values;
}

static void narrowHalf(char *memory, Element element,
                       llvm::ArrayRef<double> from) {
  std::vector<uint16_t> values;
  for (double number : from) {
    llvm::APFloat value(number);
    bool lost;
    value.convert(semantics(element), llvm::APFloat::rmNearestTiesToEven,
                  &lost);
    values.push_back(value.bitcastToAPInt().getZExtValue());
  }
  narrow<uint16_t, uint16_t>(memory, values);
}

Tensor run::readTensor(const char *memory, Element element,
                       llvm::ArrayRef<int64_t> shape, Mode mode) {
  int64_t count = elementCount(shape);
  switch (stored(element, mode)) {
  case Element::F32:
    return Tensor::floats(element, shape, widen<float, double>(memory, count),
                          mode);
  case Element::F64:
    return Tensor::floats(element, shape, widen<double, double>(memory, count),
                          mode);
  case Element::BF16:
  case Element::F16:
    return Tensor::floats(element, shape, widenHalf(memory, element, count),
                          mode);
  case Element::I64:
    return Tensor::ints(element, shape, widen<int64_t, int64_t>(memory, count));
  case Element::I32:
    return Tensor::ints(element, shape, widen<int32_t, int64_t>(memory, count));
  case Element::I8:
  case Element::I1:
    return Tensor::ints(element, shape, widen<int8_t, int64_t>(memory, count));
  }
  llvm_unreachable("all element types are listed");
}

void run::writeTensor(char *memory, const Tensor &tensor, Mode mode) {
  switch (stored(tensor.element(), mode)) {
  case Element::F32:
    return narrow<float>(memory, tensor.floats());
  case Element::F64:
    return narrow<double>(memory, tensor.floats());
  case Element::BF16:
  case Element::F16:
    return narrowHalf(memory, tensor.element(), tensor.floats());
  case Element::I64:
    return narrow<int64_t>(memory, tensor.ints());
  case Element::I32:
    return narrow<int32_t>(memory, tensor.ints());
  case Element::I8:
  case Element::I1:
    return narrow<int8_t>(memory, tensor.ints());
  }
  llvm_unreachable("all element types are listed");
}
