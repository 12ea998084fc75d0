//===- Tensor.h - Plain tensors of the interpreter --------------*- C++ -*-===//
//
// A tensor is a shape, an element type and a row-major array. Floats are held
// as doubles whatever their type says: what a narrower type means is decided
// in one place, when an op's result is rounded (`Mode`).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERPRETER_TENSOR_H
#define HONE_INTERPRETER_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace hone::interp {

/// Element types, numbered as in the runtime's abi.def.
enum class Element { F32, F64, BF16, F16, I64, I32, I8, I1, E4M3, E5M2 };

/// How results are rounded. Every op is evaluated in double and each element of
/// its results rounded once: for f32 sums, products, quotients and square roots
/// that is IEEE single arithmetic; a reduction, contraction or named op
/// accumulates in double.
enum class Mode {
  Typed, ///< to the element type of the result ("fp32")
  Moved, ///< so, then to a neighbour: what an ulp in every result changes
  F64    ///< not at all: every float type stands for double
};

bool isFloat(Element element);
/// The element type, or nothing for one that hone has no tensors of.
std::optional<Element> elementOf(mlir::Type elementType);
/// "f32", "bf16", ...
llvm::StringRef nameOf(Element element);
/// Bytes of one element in memory; i1 takes one.
int64_t byteWidth(Element element);

/// `value` rounded to nearest even in `element`, or `value` itself in
/// Mode::F64.
double roundTo(Element element, double value, Mode mode);
/// The number above or below the rounded one. Which of them, its bits and its
/// place in a tensor say: equal numbers that cancel must not move alike.
double moved(Element element, double value, int64_t place);
/// The two's complement number of `element`'s width that `value` is congruent
/// to. For i1, the lowest bit.
int64_t wrapTo(Element element, int64_t value);

using Shape = llvm::SmallVector<int64_t, 4>;

int64_t elementCount(llvm::ArrayRef<int64_t> shape);
/// Row-major strides, in elements.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

/// A value: cheap to copy, never changed after it was made.
class Tensor {
public:
  Tensor() = default;

  /// A float tensor of `values`, rounded to `element` under `mode`.
  static Tensor floats(Element element, llvm::ArrayRef<int64_t> shape,
                       std::vector<double> values, Mode mode);
  /// An integer or boolean tensor of `values`, wrapped to `element`.
  static Tensor ints(Element element, llvm::ArrayRef<int64_t> shape,
                     std::vector<int64_t> values);

  Element element() const { return elementType; }
  llvm::ArrayRef<int64_t> shape() const { return dims; }
  int64_t rank() const { return dims.size(); }
  int64_t size() const { return elementCount(dims); }
  bool isFloat() const { return interp::isFloat(elementType); }

  llvm::ArrayRef<double> floats() const { return *floatData; }
  llvm::ArrayRef<int64_t> ints() const { return *intData; }
  /// Element `index` as a double, whatever the type.
  double number(int64_t index) const;

  /// The same elements under another shape of equal size; shares storage.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// "tensor<2x3xf32>"
  std::string typeName() const;
  /// Nested brackets: [[1, 2], [3, 4]]; floats with nine digits.
  void printElements(llvm::raw_ostream &os) const;

private:
  Element elementType = Element::F32;
  Shape dims;
  std::shared_ptr<const std::vector<double>> floatData;
  std::shared_ptr<const std::vector<int64_t>> intData;
};

/// The elements of a constant.
llvm::Expected<Tensor> tensorOf(mlir::ElementsAttr value, Mode mode);

/// Calls `body(index, position)` for every index of `shape` in row-major order.
template <typename Body>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Body body) {
  int64_t count = elementCount(shape);
  Shape index(shape.size(), 0);
  for (int64_t position = 0; position != count; ++position) {
    body(llvm::ArrayRef<int64_t>(index), position);
    for (size_t dim = shape.size(); dim-- != 0;) {
      if (++index[dim] != shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

} // namespace hone::interp

#endif // HONE_INTERPRETER_TENSOR_H
