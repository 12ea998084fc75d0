//===- QuantizationGain.cpp - Which products gain by 8-bit codes ----------===//

#include "hone/Analysis/Cost/QuantizationGain.h"
#include "hone/IR/Fp8.h"

#include <limits>

using namespace mlir;
using namespace hone;

/// Bytes that quantising moves per element of an operand, beyond what bf16
/// moves: the bf16 value is read (2), and codes along its rows and along its
/// columns are written, by one kernel (1 + 1). One scale per tensor needs the
/// largest magnitude first, another pass (2).
static double bytesPerElement(bool hasTiles) { return hasTiles ? 4 : 6; }

/// Seconds that the three products take less per element of the weight, of
/// which one does not read it; a CPU multiplies codes as bf16.
static double savedSeconds(const TargetDescription &target, bool hasTiles) {
  using honert::ScaleTile;
  if (target.kind == TargetKind::CPU)
    return 0;
  ScaleTile row = hasTiles ? ScaleTile::row128 : ScaleTile::tensor,
            weight = hasTiles ? ScaleTile::block128 : ScaleTile::tensor;
  double rate = target.codeFlopsPerSecond(row, weight),
         ofGradient = target.codeFlopsPerSecond(row, row);
  if (rate == 0)
    return 0;
  return 2 * (3 / target.device().narrow - 2 / rate - 1 / ofGradient);
}

static double passSeconds(const TargetDescription &target, bool hasTiles) {
  return bytesPerElement(hasTiles) / target.bytesPerSecond();
}

double hone::quantizationGain(const TargetDescription &target, int64_t k,
                              int64_t n, bool hasTiles) {
  return savedSeconds(target, hasTiles) * double(k) * double(n) -
         passSeconds(target, hasTiles) * double(k + n);
}

double hone::leastQuantizedSize(const TargetDescription &target,
                                bool hasTiles) {
  double saved = savedSeconds(target, hasTiles);
  return saved == 0 ? std::numeric_limits<double>::infinity()
                    : passSeconds(target, hasTiles) / saved;
}
