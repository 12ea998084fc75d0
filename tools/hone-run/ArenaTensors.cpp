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
  switch (element) {
  case Element::BF16:
    return llvm::APFloat::BFloat();
  case Element::F16:
    return llvm::APFloat::IEEEhalf();
  case Element::E4M3:
    return llvm::APFloat::Float8E4M3FN();
  case Element::E5M2:
    return llvm::APFloat::Float8E5M2();
  default:
    llvm_unreachable("has fewer bits than f32");
  }
}

/// Elements of fewer bits than f32, as many as Bits has.
template <typename Bits>
static std::vector<double> widenLow(const char *memory, Element element,
                                    int64_t count) {
  std::vector<double> values;
  for (Bits bits : widen<Bits, Bits>(memory, count)) {
    llvm::APFloat value(semantics(element),
                        llvm::APInt(8 * sizeof(Bits), bits));
    bool lost;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &lost);
    values.push_back(value.convertToDouble());
  }
  return values;
}

template <typename Bits>
static void narrowLow(char *memory, Element element,
                      llvm::ArrayRef<double> from) {
  std::vector<Bits> values;
  for (double number : from) {
    llvm::APFloat value(number);
    bool lost;
    value.convert(semantics(element), llvm::APFloat::rmNearestTiesToEven,
                  &lost);
    values.push_back(value.bitcastToAPInt().getZExtValue());
  }
  narrow<Bits, Bits>(memory, values);
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
    return Tensor::floats(element, shape,
                          widenLow<uint16_t>(memory, element, count), mode);
  case Element::E4M3:
  case Element::E5M2:
    return Tensor::floats(element, shape,
                          widenLow<uint8_t>(memory, element, count), mode);
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
    return narrowLow<uint16_t>(memory, tensor.element(), tensor.floats());
  case Element::E4M3:
  case Element::E5M2:
    return narrowLow<uint8_t>(memory, tensor.element(), tensor.floats());
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
