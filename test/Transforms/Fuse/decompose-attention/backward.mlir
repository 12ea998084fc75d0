// RUN: hone-opt %s --hone-decompose-attention --split-input-file | FileCheck %s

// Five products, and between them the weights, from the log-sum-exp, and the gradient of the softmax. The weights are made
// twice, for the product before dp and for the gradient after it.
// CHECK-LABEL: @grouped_heads
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<2x16x4x8xbf16>, %[[Q:[a-z0-9]+]]: tensor<2x16x4x8xbf16>, %[[K:[a-z0-9]+]]: tensor<2x12x2x8xbf16>,
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<2x12x2x8xbf16>, %[[O:[a-z0-9]+]]: tensor<2x16x4x8xbf16>, %[[L:[a-z0-9]+]]: tensor<2x4x16xf32>,
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<3xi64>)
func.func @grouped_heads(%g: tensor<2x16x4x8xbf16>, %q: tensor<2x16x4x8xbf16>, %k: tensor<2x12x2x8xbf16>,
                         %v: tensor<2x12x2x8xbf16>, %o: tensor<2x16x4x8xbf16>, %l: tensor<2x4x16xf32>,
                         %key: tensor<3xi64>)
    -> (tensor<2x16x4x8xbf16>, tensor<2x12x2x8xbf16>, tensor<2x12x2x8xbf16>) {
  // CHECK: %[[QH:.+]] = hone.transpose %[[Q]] [0, 2, 1, 3]
  // CHECK: %[[QR:.+]] = hone.reshape %[[QH]] : tensor<2x4x16x8xbf16> -> tensor<2x2x32x8xbf16>
  // CHECK: %[[KH:.+]] = hone.transpose %[[K]] [0, 2, 1, 3]
  // CHECK: %[[VH:.+]] = hone.transpose %[[V]] [0, 2, 1, 3]
  // CHECK: %[[S:.+]] = hone.dot_general %[[QR]], %[[KH]] batch [0, 1] x [0, 1] contract [3] x [3] {hone.clone = 0 : i64} : {{.+}} -> tensor<2x2x32x12xf32>
  // CHECK: %[[GH:.+]] = hone.transpose %[[G]] [0, 2, 1, 3]
  // CHECK: %[[GR:.+]] = hone.reshape %[[GH]]
  // CHECK: %[[SH:.+]] = hone.reshape %[[S]] : tensor<2x2x32x12xf32> -> tensor<2x4x16x12xf32>
  // CHECK: %[[LSE:.+]] = hone.broadcast %[[L]] dims [0, 1, 2]
  // CHECK: %[[LESS:.+]] = hone.sub %[[SH]], %[[LSE]] {hone.clone = 0 : i64}
  // CHECK: %[[P0:.+]] = hone.exp %[[LESS]] {hone.clone = 0 : i64}
  // CHECK: %[[PZ:.+]] = hone.dropout %[[P0]], %[[KEY]] p 2.500000e-01 salt 3 {hone.clone = 0 : i64}
  // CHECK: %[[PLOW:.+]] = hone.cast %[[PZ]] {hone.clone = 0 : i64} : tensor<2x4x16x12xf32> -> tensor<2x4x16x12xbf16>
  // CHECK: %[[PR:.+]] = hone.reshape %[[PLOW]]
  // CHECK: %[[DV:.+]] = hone.dot_general %[[PR]], %[[GR]] batch [0, 1] x [0, 1] contract [2] x [2] : {{.+}} -> tensor<2x2x12x8xbf16>
  // CHECK: %[[DP:.+]] = hone.dot_general %[[GR]], %[[VH]] batch [0, 1] x [0, 1] contract [3] x [3] : {{.+}} -> tensor<2x2x32x12xf32>
  // CHECK: %[[DPH:.+]] = hone.reshape %[[DP]]
  // CHECK: %[[DPZ:.+]] = hone.dropout %[[DPH]], %[[KEY]] p 2.500000e-01 salt 3
  // CHECK: %[[P:.+]] = hone.exp %{{.+}} {hone.clone = 1 : i64}
  // CHECK: %[[GW:.+]] = hone.cast %[[G]]
  // CHECK: %[[OW:.+]] = hone.cast %[[O]]
  // CHECK: %[[GO:.+]] = hone.mul %[[GW]], %[[OW]]
  // CHECK: %[[DELTA:.+]] = hone.reduce sum %[[GO]] dims [3]
  // CHECK: %[[DELTAH:.+]] = hone.transpose %[[DELTA]] [0, 2, 1]
  // CHECK: %[[DELTAS:.+]] = hone.broadcast %[[DELTAH]] dims [0, 1, 2]
  // CHECK: %[[REST:.+]] = hone.sub %[[DPZ]], %[[DELTAS]]
  // CHECK: %[[DS:.+]] = hone.mul %[[P]], %[[REST]]
  // CHECK: %[[DSLOW:.+]] = hone.cast %[[DS]]
  // CHECK: %[[DSR:.+]] = hone.reshape %[[DSLOW]]
  // CHECK: %[[DQ:.+]] = hone.dot_general %[[DSR]], %[[KH]] batch [0, 1] x [0, 1] contract [3] x [2] : {{.+}} -> tensor<2x2x32x8xbf16>
  // CHECK: %[[DK:.+]] = hone.dot_general %[[DSR]], %[[QR]] batch [0, 1] x [0, 1] contract [2] x [2] : {{.+}} -> tensor<2x2x12x8xbf16>
  // CHECK: %[[DQH:.+]] = hone.reshape %[[DQ]] : tensor<2x2x32x8xbf16> -> tensor<2x4x16x8xbf16>
  // CHECK: %[[DQT:.+]] = hone.transpose %[[DQH]] [0, 2, 1, 3]
  // CHECK: %[[DKT:.+]] = hone.transpose %[[DK]] [0, 2, 1, 3]
  // CHECK: %[[DVT:.+]] = hone.transpose %[[DV]] [0, 2, 1, 3]
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l rng %key scale 1.0 dropout 0.25 salt 3
      : (tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>, tensor<2x12x2x8xbf16>, tensor<2x12x2x8xbf16>,
         tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>, tensor<3xi64>)
      -> (tensor<2x16x4x8xbf16>, tensor<2x12x2x8xbf16>, tensor<2x12x2x8xbf16>)
  // CHECK: return %[[DQT]], %[[DKT]], %[[DVT]]
  return %dq, %dk, %dv : tensor<2x16x4x8xbf16>, tensor<2x12x2x8xbf16>, tensor<2x12x2x8xbf16>
}

// -----

// The scale of the scores is that of the gradient, before it is rounded.
// CHECK-LABEL: @scaled
func.func @scaled(%g: tensor<1x4x1x8xf16>, %l: tensor<1x1x4xf32>)
    -> (tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>) {
  // CHECK: %[[P:.+]] = hone.exp %{{.+}} {hone.clone = 1 : i64}
  // CHECK: %[[DS:.+]] = hone.mul %[[P]], %{{.+}}
  // CHECK: %[[EXACT:.+]] = hone.constant dense<3.500000e-01> : tensor<1x1x4x4xf64>
  // CHECK: %[[FACTOR:.+]] = hone.cast %[[EXACT]]
  // CHECK: %[[SCALED:.+]] = hone.mul %[[DS]], %[[FACTOR]]
  // CHECK: hone.cast %[[SCALED]] : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf16>
  %dq, %dk, %dv = hone.attention_bwd %g, %g, %g, %g, %g, %l scale 0.35
      : (tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>,
         tensor<1x1x4xf32>) -> (tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>)
  return %dq, %dk, %dv : tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>
}
