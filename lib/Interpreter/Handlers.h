//===- Handlers.h - How the interpreter runs each op ------------*- C++ -*-===//

#ifndef HONE_LIB_INTERPRETER_HANDLERS_H
#define HONE_LIB_INTERPRETER_HANDLERS_H

#include "hone/IR/UpdateFormulas.h"
#include "hone/Interpreter/Ops.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace hone::interp {

/// Values of one block that are alive.
class Frame {
public:
  explicit Frame(Mode mode) : mode(mode) {}

  const Tensor &operator[](mlir::Value value) const {
    return values.find(value)->second;
  }
  /// The tensor of an optional operand, or null.
  const Tensor *optional(mlir::Value value) const {
    return value ? &(*this)[value] : nullptr;
  }
  Tensors all(mlir::ValueRange range) const {
    Tensors tensors;
    for (mlir::Value value : range)
      tensors.push_back((*this)[value]);
    return tensors;
  }
  /// The one element of a rank-0 operand.
  double scalar(mlir::Value value) const { return (*this)[value].number(0); }

  void set(mlir::Value value, Tensor tensor) {
    values[value] = std::move(tensor);
  }
  void erase(mlir::Value value) { values.erase(value); }

  ResultSpec spec(mlir::Value value) const {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    return {*elementOf(type.getElementType()), Shape(type.getShape()), mode};
  }
  llvm::SmallVector<ResultSpec, 4> specs(mlir::Operation *op) const {
    llvm::SmallVector<ResultSpec, 4> all;
    for (mlir::Value result : op->getResults())
      all.push_back(spec(result));
    return all;
  }

  const Mode mode;

private:
  llvm::DenseMap<mlir::Value, Tensor> values;
};

/// Where the tensor lies whose elements draw.
RandomPlace placeOf(RandomOpInterface op, const Frame &frame);

/// An error where an op has an origin at which no part begins.
llvm::Error checkPlace(mlir::Operation *op, const Frame &frame);

using Handler =
    std::function<llvm::Expected<Tensors>(mlir::Operation *, const Frame &)>;

/// One handler per op.
class HandlerTable {
public:
  HandlerTable();

  const Handler *find(mlir::OperationName name) const {
    auto it = handlers.find(name.getStringRef());
    return it == handlers.end() ? nullptr : &it->second;
  }

private:
  /// `run(op, frame)` returns a Tensor, Tensors, or an Expected of either.
  template <typename OpTy, typename Run> void on(Run run) {
    handlers[OpTy::getOperationName()] =
        [run](mlir::Operation *op,
              const Frame &frame) -> llvm::Expected<Tensors> {
      if (llvm::Error error = checkPlace(op, frame))
        return error;
      return toTensors(run(llvm::cast<OpTy>(op), frame));
    };
  }
  template <typename OpTy>
  void onUnary(double (*onFloats)(double), int64_t (*onInts)(int64_t)) {
    on<OpTy>([=](OpTy op, const Frame &frame) {
      return mapUnary(frame.spec(op), frame[op->getOperand(0)], onFloats,
                      onInts);
    });
  }
  template <typename OpTy>
  void onBinary(double (*onFloats)(double, double),
                int64_t (*onInts)(int64_t, int64_t)) {
    on<OpTy>([=](OpTy op, const Frame &frame) {
      return mapBinary(frame.spec(op), frame[op.getLhs()], frame[op.getRhs()],
                       onFloats, onInts);
    });
  }
  /// Updates that have a formula.
  template <typename... OpTys> void onUpdates(UpdateList<OpTys...>);

  static llvm::Expected<Tensors> toTensors(Tensor tensor) {
    return Tensors{std::move(tensor)};
  }
  static llvm::Expected<Tensors> toTensors(Tensors tensors) { return tensors; }
  static llvm::Expected<Tensors> toTensors(llvm::Expected<Tensors> tensors) {
    return tensors;
  }
  static llvm::Expected<Tensors> toTensors(llvm::Expected<Tensor> tensor) {
    if (!tensor)
      return tensor.takeError();
    return Tensors{std::move(*tensor)};
  }

  void addElementwise();
  void addShape();
  void addReductions();
  void addSelections();
  void addContractions();
  void addNamed();
  void addBackward();
  void addState();

  llvm::StringMap<Handler> handlers;
};

/// The table of all ops, made once.
const HandlerTable &handlerTable();

} // namespace hone::interp

#endif // HONE_LIB_INTERPRETER_HANDLERS_H
