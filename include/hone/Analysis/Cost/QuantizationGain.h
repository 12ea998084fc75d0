//===- QuantizationGain.h - Which products gain by 8-bit codes --*- C++ -*-===//
//
// A product of codes takes half the time or so, but its operands have to be
// quantised first, which moves bytes in proportion to K + N while the product's
// time is in proportion to K N: small weights lose.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_QUANTIZATIONGAIN_H
#define HONE_ANALYSIS_COST_QUANTIZATIONGAIN_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/IR/Hone.h"

namespace hone {

/// What is at either side of a product, as far as codes change its traffic.
enum class CodeNeighbor {
  matrix, ///< a matrix that a kernel of ours stores in bf16, too
  call,   ///< one that the call of a library makes
  map,    ///< elementwise ops that the kernel of codes can compute
  gelu    ///< a GELU that a call of bf16 computes, and its gradient likewise
};

/// A weight [k, n] of a product, what makes the product's input, and what reads
/// its output.
struct QuantizedWeight {
  int64_t k, n;
  CodeNeighbor input = CodeNeighbor::matrix, output = CodeNeighbor::matrix;
};

/// Seconds per row (token) that the three products of a weight in a training
/// step take less with codes than in bf16, less those of quantising the
/// weight's input and the gradient of its output; negative: they take longer.
double quantizationGain(const TargetDescription &target,
                        const QuantizedWeight &weight, Fp8Scaling scaling);

/// The least K N / (K + N) with a gain; infinity where the target's library has
/// no such product. A square weight has to have twice that many rows.
double leastQuantizedSize(const TargetDescription &target, Fp8Scaling scaling);

} // namespace hone

#endif // HONE_ANALYSIS_COST_QUANTIZATIONGAIN_H
