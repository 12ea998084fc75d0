// RUN: hone-opt %s --hone-verify-import --hone-autodiff --hone-build-step --hone-verify-step \
// RUN:   | FileCheck %s --check-prefix=STEP
// RUN: hone-opt %s --hone-verify-import --hone-autodiff="seed=0.5" --hone-build-step="micro-batches=2" --hone-verify-step \
// RUN:   | FileCheck %s --check-prefix=SPLIT

// The bias of a router moves by 0.25 against the counts of the step, which become 0: at once, or after micro-batches.
// A buffer that is no count changes as before.

// STEP-LABEL: func.func @step(
// STEP-SAME: %[[BIAS:[a-z0-9]+]]: tensor<4xf32> {hone.balance = {counts = "bias.counts", rate = 2.500000e-01 : f64}
// STEP-SAME: %[[COUNTS:[a-z0-9]+]]: tensor<4xi64> {hone.fqn = "bias.counts"
// STEP-SAME: tensor<4xf32> {hone.donates = 3 : i64, hone.fqn = "bias", hone.kind = "buffer"}
// STEP-SAME: tensor<4xi64> {hone.donates = 4 : i64, hone.fqn = "bias.counts", hone.kind = "buffer"}
// STEP-SAME: tensor<4xi64> {hone.donates = 5 : i64, hone.fqn = "seen", hone.kind = "buffer"}
// STEP: %[[NEW:.+]] = hone.add %[[COUNTS]], %[[BATCH:.+]] : tensor<4xi64>
// STEP: %[[SUM:.+]] = hone.reduce sum %[[NEW]] dims [0]
// STEP: %[[SIZE:.+]] = hone.constant dense<4> : tensor<4xi64>
// STEP: %[[SHARE:.+]] = hone.mul %[[NEW]], %[[SIZE]]
// STEP: %[[TOTAL:.+]] = hone.broadcast %[[SUM]]
// STEP: %[[DIFFERENCE:.+]] = hone.sub %[[TOTAL]], %[[SHARE]]
// STEP: %[[SIGN:.+]] = hone.sign %[[DIFFERENCE]]
// STEP: %[[DIRECTION:.+]] = hone.cast %[[SIGN]]
// STEP: %[[RATE:.+]] = hone.constant dense<2.500000e-01> : tensor<4xf32>
// STEP: %[[CHANGE:.+]] = hone.mul %[[DIRECTION]], %[[RATE]]
// STEP: %[[MOVED:.+]] = hone.add %[[BIAS]], %[[CHANGE]]
// STEP: %[[ZERO:.+]] = hone.constant dense<0> : tensor<4xi64>
// STEP: return {{.*}}%[[MOVED]], %[[ZERO]], %[[BATCH]],

// SPLIT-LABEL: func.func @accumulate(
// SPLIT-SAME: %[[COUNTS:[a-z0-9]+]]: tensor<4xi64> {hone.fqn = "bias.counts"
// SPLIT-SAME: -> (
// SPLIT-NOT: hone.fqn = "bias",
// SPLIT: %[[NEW:.+]] = hone.add %[[COUNTS]], %[[BATCH:.+]] : tensor<4xi64>
// SPLIT-NOT: hone.sign
// SPLIT: return {{.*}}%[[NEW]], %[[BATCH]]
// SPLIT-LABEL: func.func @update(
// SPLIT-SAME: %[[BIAS:[a-z0-9]+]]: tensor<4xf32> {hone.balance =
// SPLIT-SAME: %[[COUNTS:[a-z0-9]+]]: tensor<4xi64> {hone.fqn = "bias.counts"
// SPLIT-SAME: {hone.fqn = "w", hone.kind = "grad"}
// SPLIT-SAME: -> (
// SPLIT-SAME: tensor<4xf32> {hone.donates = 3 : i64, hone.fqn = "bias", hone.kind = "buffer"}
// SPLIT-SAME: tensor<4xi64> {hone.donates = 4 : i64, hone.fqn = "bias.counts", hone.kind = "buffer"}
// SPLIT-NOT: "seen"
// SPLIT: hone.reduce sum %[[COUNTS]] dims [0]
// SPLIT: hone.sign
// SPLIT: %[[MOVED:.+]] = hone.add %[[BIAS]],
// SPLIT: %[[ZERO:.+]] = hone.constant dense<0> : tensor<4xi64>
// SPLIT: return {{.*}}%[[MOVED]], %[[ZERO]],

func.func @forward(
    %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                         hone.init = {dist = "constant", value = 1.0 : f64}},
    %bias: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "bias", hone.init = {dist = "constant", value = 0.0 : f64},
                          hone.balance = {counts = "bias.counts", rate = 0.25 : f64}},
    %counts: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "bias.counts",
                            hone.init = {dist = "constant", value = 0.0 : f64}},
    %seen: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "seen", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xi64> {hone.kind = "buffer", hone.fqn = "bias.counts"},
        tensor<4xi64> {hone.kind = "buffer", hone.fqn = "seen"}) {
  %each = hone.broadcast %bias dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %scores = hone.add %w, %each : tensor<8x4xf32>
  %ids = hone.topk %scores dim 1 : tensor<8x4xf32> -> tensor<8x2xi64>
  %wide = hone.broadcast %ids dims [0, 1] : tensor<8x2xi64> -> tensor<8x2x4xi64>
  %experts = hone.iota dim 2 : tensor<8x2x4xi64>
  %equal = hone.cmp eq, %wide, %experts : tensor<8x2x4xi64> -> tensor<8x2x4xi1>
  %ones = hone.cast %equal : tensor<8x2x4xi1> -> tensor<8x2x4xi64>
  %batch = hone.reduce sum %ones dims [0, 1] : tensor<8x2x4xi64> -> tensor<4xi64>
  %new = hone.add %counts, %batch : tensor<4xi64>
  %chosen = hone.take_along %w, %ids dim 1 : tensor<8x4xf32>, tensor<8x2xi64> -> tensor<8x2xf32>
  %loss = hone.reduce sum %chosen dims [0, 1] : tensor<8x2xf32> -> tensor<f32>
  return %loss, %new, %batch : tensor<f32>, tensor<4xi64>, tensor<4xi64>
}
