//===- ApproximateMath.cpp - Polynomials for transcendental functions -----===//

#include "ApproximateMath.h"

#include "hone/Target/Passes.h"

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "hone/Target/Passes.h.inc"
} // namespace hone

using namespace mlir;

void hone::populateApproximateMath(RewritePatternSet &patterns) {
  MathPolynomialApproximationOptions options;
  // The AVX2 forms (rsqrt by estimate) differ between CPUs.
  options.enableAvx2 = false;
  populateMathPolynomialApproximationPatterns(patterns, options);
}

namespace {
struct ApproximateMath : hone::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    hone::populateApproximateMath(patterns);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
