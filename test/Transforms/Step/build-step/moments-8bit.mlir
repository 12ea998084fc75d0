// RUN: hone-opt %s --hone-build-step="moments=8bit" | FileCheck %s

// Large parameters have codes, and a scale per block of 256 elements of a row. Of a packed one each part must be large
// and begin with a block: "narrow" does not, and keeps fp32, as "small" does. Files hold parts, of codes as of scales.

// CHECK-LABEL: @step
// CHECK-SAME: tensor<8x600xi8> {hone.fqn = "exp_avg.large"
// CHECK-SAME: tensor<8x3xf32> {hone.fqn = "exp_avg_scale.large", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt"}
// CHECK-SAME: tensor<8x600xi8> {hone.fqn = "exp_avg_sq.large"
// CHECK-SAME: tensor<8x3xf32> {hone.fqn = "exp_avg_sq_scale.large"
// CHECK-SAME: tensor<8x1024xi8> {hone.fqn = "exp_avg.q+k"
// CHECK-SAME: hone.parts = [#hone.part<"exp_avg.q", offset = [0, 0], shape = [8, 512]>, #hone.part<"exp_avg.k", offset = [0, 512], shape = [8, 512]>]
// CHECK-SAME: tensor<8x4xf32> {hone.fqn = "exp_avg_scale.q+k"
// CHECK-SAME: hone.parts = [#hone.part<"exp_avg_scale.q", offset = [0, 0], shape = [8, 2]>, #hone.part<"exp_avg_scale.k", offset = [0, 2], shape = [8, 2]>]
// CHECK-SAME: tensor<16x600xf32> {hone.fqn = "exp_avg.narrow"
// CHECK-SAME: tensor<4095xf32> {hone.fqn = "exp_avg.small"
// CHECK: hone.adamw_8bit
// CHECK: hone.adamw_8bit
// CHECK: hone.adamw %
// CHECK: hone.adamw %
module {
  func.func @gradient(
      %large: tensor<8x600xf32> {hone.kind = "param", hone.fqn = "large", hone.requires_grad},
      %packed: tensor<8x1024xf32> {hone.kind = "param", hone.fqn = "q+k", hone.requires_grad, hone.parts = [
          #hone.part<"q", offset = [0, 0], shape = [8, 512]>, #hone.part<"k", offset = [0, 512], shape = [8, 512]>]},
      %narrow: tensor<16x600xf32> {hone.kind = "param", hone.fqn = "narrow", hone.requires_grad, hone.parts = [
          #hone.part<"a", offset = [0, 0], shape = [16, 300]>, #hone.part<"b", offset = [0, 300], shape = [16, 300]>]},
      %small: tensor<4095xf32> {hone.kind = "param", hone.fqn = "small", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<8x600xf32> {hone.kind = "grad", hone.fqn = "large"},
          tensor<8x1024xf32> {hone.kind = "grad", hone.fqn = "q+k"},
          tensor<16x600xf32> {hone.kind = "grad", hone.fqn = "narrow"},
          tensor<4095xf32> {hone.kind = "grad", hone.fqn = "small"}) {
    %loss = hone.reduce sum %small dims [0] : tensor<4095xf32> -> tensor<f32>
    return %loss, %large, %packed, %narrow, %small
        : tensor<f32>, tensor<8x600xf32>, tensor<8x1024xf32>, tensor<16x600xf32>, tensor<4095xf32>
  }
}
