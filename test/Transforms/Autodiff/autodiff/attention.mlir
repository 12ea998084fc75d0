// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// One op from the saved output and log-sum-exp, with dropout's key and salt; the mask gets nothing.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}, %[[K:[a-z0-9]+]]: tensor{{.*}}, %[[V:[a-z0-9]+]]: tensor{{.*}}, %[[M:[a-z0-9]+]]: tensor{{.*}}, %[[KEY:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]], %[[LSE:.+]] = hone.attention %[[Q]], %[[K]], %[[V]] mask %[[M]] rng %[[KEY]] causal scale 2.500000e-01 dropout 5.000000e-01 salt 7
// CHECK: %[[DQ:.+]], %[[DK:.+]], %[[DV:.+]] = hone.attention_bwd %[[C]], %[[Q]], %[[K]], %[[V]], %[[Y]], %[[LSE]] mask %[[M]] rng %[[KEY]] causal scale 2.500000e-01 dropout 5.000000e-01 salt 7
// CHECK: return %{{.+}}, %[[DQ]], %[[DK]], %[[DV]]

func.func @forward(%q: tensor<2x16x4x8xf32> {hone.kind = "param", hone.fqn = "q", hone.requires_grad},
    %k: tensor<2x16x2x8xf32> {hone.kind = "param", hone.fqn = "k", hone.requires_grad},
    %v: tensor<2x16x2x8xf32> {hone.kind = "param", hone.fqn = "v", hone.requires_grad},
    %m: tensor<1x1x16x16xf32> {hone.kind = "input", hone.fqn = "m"},
    %key: tensor<3xi64> {hone.kind = "rng", hone.fqn = "key"},
    %c: tensor<2x16x4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y, %l = hone.attention %q, %k, %v mask %m rng %key causal scale 0.25 dropout 0.5 salt 7 : (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<1x1x16x16xf32>, tensor<3xi64>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  %weighted = hone.mul %y, %c : tensor<2x16x4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2, 3] : tensor<2x16x4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
