// RUN: hone-opt %s --hone-autodiff --hone-verify-gradient | FileCheck %s

// Activations in bf16, statistics and norm parameters in f32: the scale's gradient is computed where the statistics are.

// CHECK-LABEL: func.func @gradient(
// CHECK: hone.cross_entropy_bwd {{.*}} -> tensor<16x8xbf16>
// CHECK: %[[DX:.+]] = hone.layer_norm_bwd %[[G:.+]], %{{.+}}, %[[MEAN:.+]], %[[RSTD:.+]] scale
// CHECK: %[[X32:.+]] = hone.cast %{{.+}} : tensor<16x8xbf16> -> tensor<16x8xf32>
// CHECK: %[[G32:.+]] = hone.cast %[[G]] : tensor<16x8xbf16> -> tensor<16x8xf32>
// CHECK: %[[P:.+]] = hone.mul %[[G32]], %{{.+}} : tensor<16x8xf32>
// CHECK: %[[DS:.+]] = hone.reduce sum %[[P]] dims [0] : tensor<16x8xf32> -> tensor<8xf32>
// CHECK: %[[GB:.+]] = hone.cast %[[G]] : tensor<16x8xbf16> -> tensor<16x8xf32>
// CHECK: %[[DB:.+]] = hone.reduce sum %[[GB]] dims [0] : tensor<16x8xf32> -> tensor<8xf32>
// CHECK: return %{{.+}}, %[[DX]], %[[DS]], %[[DB]]

func.func @forward(%x: tensor<16x8xbf16> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %s: tensor<8xf32> {hone.kind = "param", hone.fqn = "s", hone.requires_grad},
    %b: tensor<8xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad},
    %t: tensor<16xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y, %mean, %rstd = hone.layer_norm %x scale %s bias %b eps 1.0e-05
      : (tensor<16x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<16x8xbf16>, tensor<16xf32>, tensor<16xf32>)
  %loss, %lse = hone.cross_entropy mean %y, %t ignore_index -100 label_smoothing 0.0
      : tensor<16x8xbf16>, tensor<16xi64> -> tensor<f32>, tensor<16xf32>
  return %loss : tensor<f32>
}
