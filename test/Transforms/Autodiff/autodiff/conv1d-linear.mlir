// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// y = x w, the layout of GPT-2: no transpose either.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[W:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[DOT_GENERAL:.+]] = hone.dot_general %[[X]], %[[W]] batch [] x [] contract [1] x [0] : {{.*}}-> tensor<32x192xf32>
// CHECK: %[[DOT_GENERAL2:.+]] = hone.dot_general %[[C]], %[[W]] batch [] x [] contract [1] x [1] : {{.*}}-> tensor<32x64xf32>
// CHECK: %[[DOT_GENERAL3:.+]] = hone.dot_general %[[X]], %[[C]] batch [] x [] contract [0] x [0] : {{.*}}-> tensor<64x192xf32>
// CHECK: return %{{.+}}, %[[DOT_GENERAL2]], %[[DOT_GENERAL3]]

func.func @forward(%x: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %w: tensor<64x192xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %c: tensor<32x192xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<32x64xf32>, tensor<64x192xf32> -> tensor<32x192xf32>
  %weighted = hone.mul %y, %c : tensor<32x192xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<32x192xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
