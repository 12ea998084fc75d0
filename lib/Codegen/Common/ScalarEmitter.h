//===- ScalarEmitter.h - One element of a value, in code --------*- C++ -*-===//
//
// For kernels that make results element by element in any order: what has no
// rows, or moves elements about.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_SCALAREMITTER_H
#define HONE_LIB_CODEGEN_COMMON_SCALAREMITTER_H

#include "KernelBuilder.h"

#include <map>
#include <tuple>
#include <vector>

namespace hone {

/// Elements of a reduction that share an accumulator: part of the meaning of a
/// sum, as in Kernel.h.
constexpr int64_t reduceBlock = 256;

using Indices = llvm::SmallVector<mlir::Value>;

/// Emits single elements of the values of a launch's body. Elements and index
/// arithmetic are emitted once per scope, so that a value with many readers
/// costs one computation.
class ScalarEmitter {
public:
  /// Held while the builder is inside a region of the kernel.
  struct ScopeGuard {
    ScopeGuard(ScalarEmitter &emitter) : emitter(emitter) {
      emitter.scopes.emplace_back();
    }
    ~ScopeGuard() { emitter.scopes.pop_back(); }
    ScalarEmitter &emitter;
  };

  ScalarEmitter(KernelBuilder &b, plan::LaunchOp launch);
  mlir::Value emit(mlir::Value value, llvm::ArrayRef<mlir::Value> indices);

private:
  /// What was emitted inside one region of the kernel: regions nest, and an
  /// inner one may use what an outer one holds.
  using ElementKey = std::pair<void *, std::vector<void *>>;
  struct Scope {
    std::map<ElementKey, mlir::Value> elements;
    std::map<std::tuple<char, void *, void *>, mlir::Value> arithmetic;
    std::map<int64_t, mlir::Value> constants;
  };
  static ElementKey keyOf(mlir::Value value,
                          llvm::ArrayRef<mlir::Value> indices);
  /// Has `emit` return `element` for these, in this scope.
  void remember(mlir::Value value, llvm::ArrayRef<mlir::Value> indices,
                mlir::Value element);
  mlir::Value emitUncached(mlir::Value value,
                           llvm::ArrayRef<mlir::Value> indices);
  mlir::Value load(mlir::BlockArgument argument,
                   llvm::ArrayRef<mlir::Value> indices);
  mlir::Value constant(ConstantOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value table(ConstantOp op, mlir::DenseElementsAttr dense);
  mlir::Value iota(IotaOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value random(RandomOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value dropout(DropoutOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value reshape(ReshapeOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value pad(PadOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value concat(ConcatOp op, llvm::ArrayRef<mlir::Value> indices,
                     unsigned input);
  mlir::Value reduce(ReduceOp op, llvm::ArrayRef<mlir::Value> indices);
  /// The element at some indices of a reduction.
  using ElementAt =
      llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)>;
  /// Combines the elements at all indices below `sizes`.
  mlir::Value combineOver(ReduceKind kind, mlir::Type element,
                          llvm::ArrayRef<int64_t> sizes, ElementAt elementAt);
  mlir::Value combineRest(ReduceKind kind, mlir::Type element,
                          llvm::ArrayRef<int64_t> sizes, Indices &at,
                          ElementAt elementAt);
  mlir::Value exceeds(mlir::Value challenger, mlir::Value best);
  mlir::Value argmax(ArgmaxOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value cumsum(CumsumOp op, llvm::ArrayRef<mlir::Value> indices);

  // Windows (WindowElements.cpp).
  struct Place {
    Indices indices;    ///< per spatial dimension
    mlir::Value exists; ///< whether the tensor has this position
    void require(KernelBuilder &b, mlir::Value holds);
  };
  Place inputPlace(const Window &window, llvm::ArrayRef<mlir::Value> at,
                   llvm::ArrayRef<mlir::Value> tap,
                   llvm::ArrayRef<int64_t> sizes);
  Place outputPlace(const Window &window, llvm::ArrayRef<mlir::Value> at,
                    llvm::ArrayRef<mlir::Value> tap,
                    llvm::ArrayRef<int64_t> sizes);
  mlir::Value product(mlir::Value x, llvm::ArrayRef<mlir::Value> xIndices,
                      mlir::Value y, llvm::ArrayRef<mlir::Value> yIndices);
  mlir::Value zeroOf(mlir::Type element);
  mlir::Value conv(ConvOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value convBwdInput(ConvBwdInputOp op,
                           llvm::ArrayRef<mlir::Value> indices);
  mlir::Value convBwdWeight(ConvBwdWeightOp op,
                            llvm::ArrayRef<mlir::Value> indices);
  mlir::Value tapNumber(const Window &window, llvm::ArrayRef<mlir::Value> tap);
  std::pair<mlir::Value, mlir::Value>
  maxPool(MaxPoolOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value maxPoolBwd(MaxPoolBwdOp op, llvm::ArrayRef<mlir::Value> indices);

  // Groups of rows (GroupedElements.cpp).
  mlir::Value endOf(mlir::Value ends, mlir::Value group);
  mlir::Value groupedDot(GroupedDotOp op, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value groupedDotBwdWeight(GroupedDotBwdWeightOp op,
                                  llvm::ArrayRef<mlir::Value> indices);

  // Weights in codes (WeightValues.cpp).
  mlir::Value dequantize(DequantizeOp op, llvm::ArrayRef<mlir::Value> indices);

  /// Word that `op` draws for an element, as an i32.
  mlir::Value philoxWord(RandomOpInterface op, int64_t salt,
                         llvm::ArrayRef<mlir::Value> indices);
  mlir::Value keyVector(mlir::Value key);
  /// u of hone.random: the upper 24 bits of a word, in [0, 1).
  mlir::Value uniform(mlir::Value word, mlir::Type type);

  mlir::Value linearize(llvm::ArrayRef<mlir::Value> indices,
                        llvm::ArrayRef<int64_t> shape);
  mlir::Value index(int64_t value);
  template <typename Op>
  mlir::Value arithmetic(char tag, mlir::Value lhs, mlir::Value rhs);
  mlir::Value addIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mulIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value divIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value remIndex(mlir::Value lhs, int64_t rhs);
  /// 0 <= low <= index < high
  mlir::Value isWithin(mlir::Value index, int64_t low, int64_t high);
  mlir::Value ifElse(mlir::Value condition,
                     llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise);
  llvm::SmallVector<mlir::Value>
  loop(int64_t from, int64_t to, mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);

  KernelBuilder &b;
  llvm::DenseMap<mlir::Value, mlir::Value> keys, tables;
  llvm::SmallVector<Scope> scopes;
};

/// Ops whose elements come from the operands' elements at the same place.
bool isElementOp(mlir::Operation *op);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_SCALAREMITTER_H
