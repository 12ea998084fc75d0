// RUN: hone-opt %s --hone-autodiff --split-input-file | FileCheck %s

// Dropout is the identity, in attention too, and the key is no argument any more.

// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x16x4x8xf32> {{{.*}}}) -> (tensor<f32> {hone.kind = "loss"})
// CHECK-NEXT: %[[Y:.+]], %{{.+}} = hone.attention %[[X]], %[[X]], %[[X]] causal scale 5.000000e-01 :
// CHECK-NEXT: %[[LOSS:.+]] = hone.reduce sum %[[Y]]
// CHECK-NEXT: return %[[LOSS]]

func.func @forward(%x: tensor<2x16x4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %key: tensor<3xi64> {hone.kind = "rng", hone.fqn = "rng"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y, %lse = hone.attention %x, %x, %x rng %key causal scale 0.5 dropout 0.1 salt 1
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<3xi64>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  %d = hone.dropout %y, %key p 0.1 salt 2 : tensor<2x16x4x8xf32>, tensor<3xi64>
  %loss = hone.reduce sum %d dims [0, 1, 2, 3] : tensor<2x16x4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A hone.random is part of the model, not dropout: the key stays for it.

// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<3xi64> {hone.fqn = "rng", hone.kind = "rng"}
// CHECK: hone.random normal(%[[KEY]])

func.func @forward(%x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %key: tensor<3xi64> {hone.kind = "rng", hone.fqn = "rng"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %n = hone.random normal(%key) salt 1 : tensor<3xi64> -> tensor<4xf32>
  %y = hone.add %x, %n : tensor<4xf32>
  %loss = hone.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
