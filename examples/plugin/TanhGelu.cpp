//===- TanhGelu.cpp - GELU by its cheaper formula -------------------------===//

#include "hone/Pipelines/RewritePlugin.h"

static void useTanh(hone::GeluOp op) {
  if (op.getApproximate() == hone::GeluApproximation::tanh)
    return;
  op.setApproximate(hone::GeluApproximation::tanh);
  op.emitRemark("now by tanh");
}

HONE_REWRITE_PLUGIN("tanh-gelu", "Computes GELU by tanh", useTanh)
