//===- QuantizationGain.cpp - Which products gain by 8-bit codes ----------===//

#include "hone/Analysis/Cost/QuantizationGain.h"
#include "hone/IR/Fp8.h"

#include <limits>

using namespace mlir;
using namespace hone;

/// Bytes that quantising moves per element of an operand, beyond what bf16
/// moves: the bf16 value is read (2), and codes along its rows and along its
/// columns are written, by one kernel (1 + 1). The largest magnitude that one
/// scale per tensor needs is found where the value is made.
static constexpr double bytesPerElement = 4;

/// The same of what the call of a library makes: one scale per tensor needs
/// another pass (2).
static double callBytes(Fp8Scaling scaling) {
  return bytesPerElement + (scaling == Fp8Scaling::tensor ? 2 : 0);
}

/// Tiles of a row of activations or gradients, and of a weight.
static std::pair<honert::ScaleTile, honert::ScaleTile>
tilesOf(Fp8Scaling scaling) {
  using honert::ScaleTile;
  switch (scaling) {
  case Fp8Scaling::tensor:
    return {ScaleTile::tensor, ScaleTile::tensor};
  case Fp8Scaling::block:
    return {ScaleTile::row128, ScaleTile::block128};
  case Fp8Scaling::mx:
    return {ScaleTile::row32, ScaleTile::row32};
  }
  llvm_unreachable("unknown scaling");
}

/// Seconds that the three products take less per element of the weight, of
/// which one does not read it; a CPU multiplies codes as bf16.
static double savedSeconds(const TargetDescription &target,
                           Fp8Scaling scaling) {
  if (target.kind == TargetKind::CPU)
    return 0;
  auto [row, weight] = tilesOf(scaling);
  double rate = target.codeFlopsPerSecond(row, weight),
         ofGradient = target.codeFlopsPerSecond(row, row);
  if (rate == 0)
    return 0;
  return 2 * (3 / target.device().narrow - 2 / rate - 1 / ofGradient);
}

/// The same of what the kernel of codes computes itself: with scales by tiles
/// it writes codes where bf16 had its value written. With one scale per tensor
/// the value is written with its largest magnitude, or computed once more for
/// it, which takes no more than that (2 + 2).
static double computedBytes(Fp8Scaling scaling) {
  return scaling == Fp8Scaling::tensor ? bytesPerElement : 0;
}

/// Of the input. Where a GELU made it, the product of codes that makes the
/// gradient of it has no gradient of a GELU in its call: that is written and
/// read once more (2 + 2).
static double inputBytes(CodeNeighbor input, Fp8Scaling scaling) {
  if (input == CodeNeighbor::matrix)
    return bytesPerElement;
  if (input == CodeNeighbor::call)
    return callBytes(scaling);
  return computedBytes(scaling) + (input == CodeNeighbor::gelu ? 4 : 0);
}

/// Of the gradient of the output. Where a GELU reads this, a kernel of its own
/// reads the argument (2) that the call of bf16 had.
static double outputBytes(CodeNeighbor output, Fp8Scaling scaling) {
  switch (output) {
  case CodeNeighbor::matrix:
    return bytesPerElement;
  case CodeNeighbor::call:
    return callBytes(scaling);
  case CodeNeighbor::map:
    return computedBytes(scaling);
  case CodeNeighbor::gelu:
    return bytesPerElement + computedBytes(scaling) + 2;
  }
  llvm_unreachable("unknown neighbor");
}

double hone::quantizationGain(const TargetDescription &target,
                              const QuantizedWeight &weight,
                              Fp8Scaling scaling) {
  double k = weight.k, n = weight.n;
  double bytes = inputBytes(weight.input, scaling) * k +
                 outputBytes(weight.output, scaling) * n;
  return savedSeconds(target, scaling) * k * n -
         bytes / target.bytesPerSecond();
}

double hone::leastQuantizedSize(const TargetDescription &target,
                                Fp8Scaling scaling) {
  double saved = savedSeconds(target, scaling);
  return saved == 0 ? std::numeric_limits<double>::infinity()
                    : bytesPerElement / target.bytesPerSecond() / saved;
}
