// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Rows of the cotangent add up per id.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[T:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[EMBEDDING:.+]] = hone.embedding %[[X]], %[[T]]
// CHECK: %[[EMBEDDING_BWD:.+]] = hone.embedding_bwd %[[C]], %[[T]] : {{.*}}-> tensor<32x8xf32>
// CHECK: return %{{.+}}, %[[EMBEDDING_BWD]]

func.func @forward(%x: tensor<32x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %t: tensor<2x16xi64> {hone.kind = "input", hone.fqn = "t"},
    %c: tensor<2x16x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.embedding %x, %t : tensor<32x8xf32>, tensor<2x16xi64> -> tensor<2x16x8xf32>
  %weighted = hone.mul %y, %c : tensor<2x16x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2] : tensor<2x16x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
