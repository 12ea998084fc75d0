//===- Ops.h - What each op means on plain tensors --------------*- C++ -*-===//
//
// One function per op, or per family of ops that share a formula. Shapes are
// those the verifiers promise; what depends on values (an index out of range, a
// division by zero) is an error. Formulas stand in the ops' descriptions.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERPRETER_OPS_H
#define HONE_INTERPRETER_OPS_H

#include "hone/IR/Hone.h"
#include "hone/IR/StateCode.h"
#include "hone/Interpreter/Philox.h"
#include "hone/Interpreter/Tensor.h"

namespace hone::interp {

using Tensors = llvm::SmallVector<Tensor, 4>;
using Dims = llvm::ArrayRef<int64_t>;

/// Element type and shape of a result, and the rounding that makes it.
struct ResultSpec {
  Element element;
  Shape shape;
  Mode mode;

  Tensor floats(std::vector<double> values) const {
    return Tensor::floats(element, shape, std::move(values), mode);
  }
  Tensor ints(std::vector<int64_t> values) const {
    return Tensor::ints(element, shape, std::move(values));
  }
  /// What the other results of the op are made with, where this one, element
  /// `place` of it `value`, is used beside them: in Mode::Moved the rounded and
  /// moved number, for an ulp in a statistic changes all of its row.
  double used(double value, int64_t place) const {
    return mode == Mode::Moved ? moved(element, value, place) : value;
  }
};

//===-- Creation ----------------------------------------------------------===//

Tensor iota(const ResultSpec &result, int64_t dim);
Tensor random(const ResultSpec &result, const Tensor &key,
              Distribution distribution, int64_t salt,
              const RandomPlace &place = {});

//===-- Elementwise -------------------------------------------------------===//

/// A float formula and an integer formula; either may be null where the op does
/// not take that type.
Tensor mapUnary(const ResultSpec &result, const Tensor &operand,
                double (*onFloats)(double), int64_t (*onInts)(int64_t));
Tensor mapBinary(const ResultSpec &result, const Tensor &lhs, const Tensor &rhs,
                 double (*onFloats)(double, double),
                 int64_t (*onInts)(int64_t, int64_t));

double sign(double value);
double logistic(double value);
double gelu(GeluApproximation approximate, double value);
/// The derivative of `gelu`.
double geluSlope(GeluApproximation approximate, double value);
/// IEEE 754-2019 maximum and minimum: NaN if either is, +0 above -0.
double maximum(double lhs, double rhs);
double minimum(double lhs, double rhs);

/// Fails where the divisor is 0, and for the one quotient that overflows.
llvm::Expected<Tensor> divide(const ResultSpec &result, const Tensor &lhs,
                              const Tensor &rhs);
/// Fails where a float does not fit the integer type.
llvm::Expected<Tensor> cast(const ResultSpec &result, const Tensor &operand);
Tensor compare(const ResultSpec &result, CmpPredicate predicate,
               const Tensor &lhs, const Tensor &rhs);
Tensor select(const ResultSpec &result, const Tensor &pred,
              const Tensor &onTrue, const Tensor &onFalse);
Tensor dropout(const ResultSpec &result, const Tensor &input, const Tensor &key,
               double p, int64_t salt, const RandomPlace &place);
Tensor rope(const ResultSpec &result, RopeStyle style, const Tensor &input,
            const Tensor &cos, const Tensor &sin, bool inverse);

//===-- Shape -------------------------------------------------------------===//

Tensor transpose(const ResultSpec &result, const Tensor &operand,
                 Dims permutation);
Tensor broadcast(const ResultSpec &result, const Tensor &operand, Dims dims);
Tensor slice(const ResultSpec &result, const Tensor &operand, Dims starts,
             Dims strides);
Tensor pad(const ResultSpec &result, const Tensor &operand, Dims low,
           Dims interior);
Tensor concat(const ResultSpec &result, llvm::ArrayRef<Tensor> inputs,
              int64_t dim);

//===-- Reduction and contraction -----------------------------------------===//

Tensor reduce(const ResultSpec &result, ReduceKind kind, const Tensor &operand,
              Dims dims);
Tensor argmax(const ResultSpec &result, const Tensor &operand, int64_t dim);
Tensor cumsum(const ResultSpec &result, const Tensor &operand, int64_t dim,
              bool reverse);

/// Batch, free and contracted dimensions of one operand of a contraction.
struct DotDims {
  Dims batch, free, contract;
};
/// Products are added in increasing order of the contracted index, in double.
Tensor dotGeneral(const ResultSpec &result, const Tensor &lhs, DotDims lhsDims,
                  const Tensor &rhs, DotDims rhsDims);

/// `ends[e]` is where the rows of group e end; `contract` is the dimension of
/// `weight` that is summed over.
Tensor groupedDot(const ResultSpec &result, const Tensor &input,
                  const Tensor &weight, const Tensor &ends, int64_t contract);
Tensor groupedDotBwdWeight(const ResultSpec &result, const Tensor &lhs,
                           const Tensor &rhs, const Tensor &ends);

/// Ops on blocks of rows (DistBlockOps.td).
llvm::Expected<Tensor> blockEmbedding(const ResultSpec &result,
                                      const Tensor &table, const Tensor &ids);
llvm::Expected<Tensor> blockEmbeddingBwd(const ResultSpec &result,
                                         const Tensor &grad, const Tensor &ids);
llvm::Expected<Tensor> blockPermute(const ResultSpec &result,
                                    const Tensor &rows, const Tensor &ids,
                                    int64_t perRow, bool isTotal);
Tensor blockExchange(const ResultSpec &result, const Tensor &operand,
                     bool isReverse);
Tensor blockGroupedDot(const ResultSpec &result, const Tensor &input,
                       const Tensor &weight, const Tensor &ends,
                       int64_t contract);
Tensor blockGroupedDotBwdWeight(const ResultSpec &result, const Tensor &lhs,
                                const Tensor &rhs, const Tensor &ends);

/// The largest magnitude.
Tensor amax(const ResultSpec &result, const Tensor &operand);
/// Codes and scales; `amax` is null where each tile has its own. In Mode::F64
/// codes are not rounded, so that they times their scales are the operand.
Tensors quantize(llvm::ArrayRef<ResultSpec> results, const Tensor &operand,
                 const Tensor *amax, const honert::ScaleLayout &layout,
                 bool transposed);
/// Each code times its scale.
Tensor valuesOfCodes(const Tensor &codes, const Tensor &scales,
                     const honert::ScaleLayout &layout);

//===-- Windows -----------------------------------------------------------===//

Tensor conv(const ResultSpec &result, const Window &window, const Tensor &input,
            const Tensor &weight);
Tensor convBwdInput(const ResultSpec &result, const Window &window,
                    const Tensor &grad, const Tensor &weight);
Tensor convBwdWeight(const ResultSpec &result, const Window &window,
                     const Tensor &input, const Tensor &grad);
/// The results are the maxima and their taps.
Tensors maxPool(llvm::ArrayRef<ResultSpec> results, const Window &window,
                const Tensor &input);
Tensor maxPoolBwd(const ResultSpec &result, const Window &window,
                  const Tensor &grad, const Tensor &taps);

//===-- Index -------------------------------------------------------------===//

llvm::Expected<Tensor> embedding(const ResultSpec &result, const Tensor &table,
                                 const Tensor &ids);
llvm::Expected<Tensor> embeddingBwd(const ResultSpec &result,
                                    const Tensor &grad, const Tensor &ids);

/// The first indices of each line along `dim` in the order of its elements, as
/// many as the result has.
Tensor firstInOrder(const ResultSpec &result, const Tensor &operand,
                    int64_t dim, bool descending);
/// Values of codes, `block` elements of a row per scale.
Tensor dequantize(const ResultSpec &result, WeightCode code,
                  const Tensor &codes, const Tensor &scales, int64_t block);
llvm::Expected<Tensor> takeAlong(const ResultSpec &result,
                                 const Tensor &operand, const Tensor &ids,
                                 int64_t dim);
llvm::Expected<Tensor> putAlong(const ResultSpec &result, ReduceKind kind,
                                const Tensor &updates, const Tensor &ids,
                                int64_t dim);
/// Fails where the update reaches outside of the operand.
llvm::Expected<Tensor> updateSlice(const ResultSpec &result,
                                   const Tensor &operand, const Tensor &update,
                                   int64_t at, int64_t dim);

//===-- Rows: norms, softmax, losses --------------------------------------===//
// An optional operand that is absent is null. The first `width` elements of a
// row count, the result is 0 at the others; width 0 is the whole row.

/// The results are the normalised input, mean and rstd.
Tensors layerNorm(llvm::ArrayRef<ResultSpec> results, const Tensor &input,
                  const Tensor *scale, const Tensor *bias, double eps,
                  int64_t width);
Tensor layerNormBwd(const ResultSpec &result, const Tensor &grad,
                    const Tensor &input, const Tensor &mean, const Tensor &rstd,
                    const Tensor *scale, int64_t width);
/// The results are the normalised input and rstd.
Tensors rmsNorm(llvm::ArrayRef<ResultSpec> results, const Tensor &input,
                const Tensor *scale, double eps, int64_t width);
Tensor rmsNormBwd(const ResultSpec &result, const Tensor &grad,
                  const Tensor &input, const Tensor &rstd, const Tensor *scale,
                  int64_t width);
Tensor softmax(const ResultSpec &result, const Tensor &input, int64_t width);
Tensor softmaxBwd(const ResultSpec &result, const Tensor &grad,
                  const Tensor &output, int64_t width);

struct CrossEntropyOptions {
  LossReduction reduction;
  int64_t ignoreIndex;
  double labelSmoothing;
  int64_t width;
};
/// The results are the loss and the log-sum-exp of each row. Fails where a
/// target is neither a class nor the ignored index.
llvm::Expected<Tensors> crossEntropy(llvm::ArrayRef<ResultSpec> results,
                                     const Tensor &logits,
                                     const Tensor &targets,
                                     const CrossEntropyOptions &options);
llvm::Expected<Tensor> crossEntropyBwd(const ResultSpec &result,
                                       const Tensor &grad, const Tensor &logits,
                                       const Tensor &targets, const Tensor &lse,
                                       const CrossEntropyOptions &options);

//===-- Attention ---------------------------------------------------------===//

struct AttentionInputs {
  const Tensor &query;    // [B, T, H, D]
  const Tensor &key;      // [B, S, G, D]
  const Tensor &value;    // [B, S, G, E]
  const Tensor *mask;     // [B or 1, H or 1, T, S], or null
  const Tensor *segments; // [B, S], or null
  const Tensor *rng;      // null without dropout
  bool causal;
  double scale;
  double dropout;
  int64_t salt;
  RandomPlace place; // of the scores, [B, H, T, S]
  /// Positions among the keys where runs of queries begin, as many in each.
  std::vector<int64_t> first;
};
/// The results are the output and, if asked for, the log-sum-exp of each row of
/// scores.
Tensors attention(llvm::ArrayRef<ResultSpec> results,
                  const AttentionInputs &inputs);
/// The results are the gradients of query, key and value.
Tensors attentionBwd(llvm::ArrayRef<ResultSpec> results, const Tensor &grad,
                     const AttentionInputs &inputs, const Tensor &output,
                     const Tensor &lse);

//===-- Norm of many tensors, optimizers ----------------------------------===//

Tensor globalNorm(const ResultSpec &result, llvm::ArrayRef<Tensor> inputs);

/// A moment in codes, and the scales of its blocks (hone.adamw_8bit).
struct CodedMoment {
  Tensor codes, scales;
};
std::vector<double> decodeMoment(const CodedMoment &moment, StateCode code);
CodedMoment encodeMoment(const ResultSpec &codes, const ResultSpec &scales,
                         llvm::ArrayRef<double> values, StateCode code);

struct AdafactorOptions {
  double lr, weightDecay, gradScale; // operands
  int64_t step;                      // operand
  double beta2Decay, eps1, eps2, clipThreshold, lrScale, decayScale;
  bool maximize;
};
/// The results are the parameter and the means.
Tensors adafactor(llvm::ArrayRef<ResultSpec> results, const Tensor &param,
                  const Tensor &grad, llvm::ArrayRef<Tensor> variances,
                  const AdafactorOptions &options);

struct MuonOptions {
  double lr, weightDecay, gradScale; // operands
  double momentum, eps, shapeScale, lrScale, decayScale;
  bool nesterov, maximize;
};
/// The results are the parameter and its momentum, of rank 2.
Tensors muon(llvm::ArrayRef<ResultSpec> results, const Tensor &param,
             const Tensor &grad, const Tensor &buffer,
             const MuonOptions &options);

} // namespace hone::interp

#endif // HONE_INTERPRETER_OPS_H
