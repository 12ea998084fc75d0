//===- UpdateEmitter.h - What kernels of updates share ----------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_UPDATEEMITTER_H
#define HONE_LIB_CODEGEN_COMMON_UPDATEEMITTER_H

#include "ElementwiseArith.h"
#include "KernelBuilder.h"
#include "hone/Analysis/Layout/RandomPart.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace hone {

/// How the updates of a launch use its buffers.
struct UpdateTable {
  /// Reads the launch; reports what is no group of equal updates.
  static mlir::FailureOr<UpdateTable> of(plan::LaunchOp launch);

  /// The argument of the kernel for an operand or result of the op; results
  /// that nobody wants have none.
  unsigned argumentOf(unsigned operand) const { return operand; }
  std::optional<unsigned> argumentOf(mlir::OpResult result) const {
    return results[result.getResultNumber()];
  }

  UpdateOpInterface op; ///< the first, which stands for all
  TensorTable tensors;
  llvm::SmallVector<mlir::Type> types; ///< of the kernel's arguments
  /// Arguments with an element per element of the parameter; or, of state in
  /// codes, per block.
  llvm::SmallVector<unsigned> perElement;
  llvm::SmallVector<std::optional<unsigned>> results;
  /// Numbers of the results that lie, in every update, where their operand
  /// does.
  llvm::SmallVector<unsigned> inPlace;

private:
  void addTensors(plan::LaunchOp launch, llvm::ArrayRef<UpdateOpInterface> ops);
  void findTypes();
  void findInPlace(plan::LaunchOp launch);

  int64_t largest = 0; ///< elements of a parameter
};

/// Builds the kernel of a table of updates. Here it is one for a CPU; another
/// machine has its own memory accesses and its own way through the elements.
/// It is the arithmetic of formulas (hone/IR/UpdateFormulas.h).
struct UpdateEmitter : KernelBuilder {
  using Value = mlir::Value;

  UpdateEmitter(mlir::OpBuilder &builder, llvm::StringRef name,
                plan::LaunchOp launch, const UpdateTable &table)
      : UpdateEmitter(builder, name, launch, table, table.types, kernelLanes) {}
  virtual ~UpdateEmitter() = default;

  /// The buffer of an operand of the op.
  mlir::Value memory(mlir::OpOperand &operand) {
    return buffer(table.argumentOf(operand.getOperandNumber()));
  }
  mlir::Value input(mlir::OpOperand &operand, mlir::Value at,
                    mlir::Value mask) {
    unsigned argument = table.argumentOf(operand.getOperandNumber());
    return convertFloat(loadElements(argument, at, mask), compute);
  }

  mlir::Value add(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::AddFOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::SubFOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::MulFOp>(x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::DivFOp>(x, y);
  }
  mlir::Value neg(mlir::Value x) { return create<mlir::arith::NegFOp>(x); }
  mlir::Value sqrt(mlir::Value x) { return create<mlir::math::SqrtOp>(x); }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return create<mlir::math::FmaOp>(x, y, z);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OLT, x, y);
  }
  mlir::Value greater(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OGT, x, y);
  }
  mlir::Value select(mlir::Value flag, mlir::Value yes, mlir::Value no) {
    return create<mlir::arith::SelectOp>(flag, yes, no);
  }
  mlir::Value f64(double value) { return constant(getF64Type(), value); }

  /// A scalar operand in f64; an integer as it is.
  mlir::Value scalar(mlir::OpOperand &operand) {
    mlir::Value value =
        loadScalar(table.argumentOf(operand.getOperandNumber()));
    return mlir::isa<mlir::FloatType>(value.getType())
               ? convertFloat(value, getF64Type())
               : value;
  }
  /// A scalar in f64, rounded to the compute type, in all lanes.
  mlir::Value splat(mlir::Value value) {
    return create<mlir::vector::BroadcastOp>(vectorType,
                                             convertFloat(value, compute));
  }
  mlir::Value splat(double value) { return constant(vectorType, value); }
  mlir::Value power(double base, mlir::Value exponent);
  /// The argument of an operand that is a scalar or key, given as a value.
  unsigned argumentOf(mlir::Value operand) {
    return llvm::find(op->getOperands(), operand) - op->getOperands().begin();
  }

  /// `update()`, or `keep()` where the operand, unless it is null, is false.
  void emitIf(mlir::Value applyOperand, llvm::function_ref<void()> update,
              llvm::function_ref<void()> keep);

  /// The new values of `results` at the vector of elements from `at` on, before
  /// they are rounded; a working copy has none.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value at, mlir::Value mask)>;
  void emit(Body body);

  const UpdateTable &table;
  UpdateOpInterface op;
  mlir::Type compute;
  mlir::VectorType vectorType; ///< of elements that are computed at once

protected:
  /// With `buffers` in place of the table's types.
  UpdateEmitter(mlir::OpBuilder &builder, llvm::StringRef name,
                plan::LaunchOp launch, const UpdateTable &table,
                llvm::ArrayRef<mlir::Type> buffers, int64_t lanes)
      : KernelBuilder(builder, launch.getLoc(), name,
                      withTag(table.op->getContext(), buffers)),
        table(table), op(table.op),
        compute(elementwise::computeType(
            getElementTypeOrSelf(op->getOperand(0).getType()))),
        vectorType(mlir::VectorType::get({lanes}, compute)) {}

  // Memory. Values are of the type that lies there; what is stored is rounded
  // to it. Lanes outside of `mask` (null: none) are not touched.
  virtual mlir::Value loadElements(unsigned argument, mlir::Value at,
                                   mlir::Value mask);
  virtual void storeElements(mlir::Value value, unsigned argument,
                             mlir::Value at, mlir::Value mask);
  virtual mlir::Value loadScalar(unsigned argument);
  /// vector<3xi64>
  virtual mlir::Value loadKey(unsigned argument);

  /// What random words are made from; there are none where the key is null.
  struct RandomSource {
    mlir::Value salt, key, origin; ///< origin: i64, null for 0
    RandomPart part;               ///< which the tensor is of its parameter
  };
  /// Numbers in the whole of the elements `first`, `first + step`, ... of the
  /// parameter, as `vector<count x i64>`; `first` is an index.
  mlir::Value numbersFrom(mlir::Value first, int64_t step, int64_t count,
                          const RandomSource &random);
  /// Receives the first element of a vector, its mask, and random words of its
  /// elements.
  using VectorBody = llvm::function_ref<void(mlir::Value at, mlir::Value mask,
                                             mlir::Value word)>;
  /// Runs `body` on all vectors; words are null where the key is.
  virtual void forVectors(const RandomSource &random, VectorBody body);

private:
  std::array<mlir::Value, 4> blockWords(mlir::Value first,
                                        const RandomSource &random);
  static llvm::SmallVector<mlir::Type>
  withTag(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Type> buffers) {
    llvm::SmallVector<mlir::Type> types(buffers);
    types.push_back(mlir::IndexType::get(context));
    return types;
  }
  void store(mlir::OpResult result, mlir::Value value, mlir::Value at,
             mlir::Value mask, mlir::Value word);
  void keepAll();
  mlir::Value roundStochastically(mlir::Value value, mlir::Value word,
                                  int64_t shift);
};

/// Emits the update of an op that has a formula (hone/IR/UpdateFormulas.h).
/// False for other ops.
bool emitUpdate(UpdateEmitter &b);

/// Kernel of `hone.adamw_8bit` (see emitUpdates).
void emitCodedAdamw(UpdateEmitter &b, Adamw8bitOp op);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_UPDATEEMITTER_H
