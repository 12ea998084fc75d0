// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The loss is seeded with 1; the saved log-sum-exp is reused.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[T:[a-z0-9]+]]: tensor
// CHECK: %[[SEED:.+]] = hone.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[LOSS:.+]], %[[LSE:.+]] = hone.cross_entropy mean %[[X]], %[[T]] ignore_index -100 label_smoothing 1.000000e-01
// CHECK: %[[DX:.+]] = hone.cross_entropy_bwd mean %[[SEED]], %[[X]], %[[T]], %[[LSE]] ignore_index -100 label_smoothing 1.000000e-01
// CHECK: return %[[LOSS]], %[[DX]]

func.func @forward(%x: tensor<32x61xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %t: tensor<32xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %loss, %l = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.1 : tensor<32x61xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  return %loss : tensor<f32>
}
