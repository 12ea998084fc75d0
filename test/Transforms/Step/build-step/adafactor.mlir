// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=adafactor clip-threshold=1.5" --hone-verify-step | FileCheck %s

// A matrix has means of rows and columns, a vector has second moments.
// CHECK: hone.optimizer = {beta2_decay = -8.000000e-01 : f64, clip = 0x7FF0000000000000 : f64, clip_threshold = 1.500000e+00 : f64,
// CHECK-SAME: eps1 = 1.1920928955078125E-7 : f64, eps2 = 1.000000e-03 : f64,
// CHECK-SAME: lr = 1.000000e-02 : f64, name = "adafactor", weight_decay = 0.000000e+00 : f64}
// CHECK-LABEL: @step
// CHECK-SAME: %[[R:arg[0-9]+]]: tensor<8xf32> {hone.fqn = "row_var.w", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt"}
// CHECK-SAME: %[[C:arg[0-9]+]]: tensor<4xf32> {hone.fqn = "col_var.w"
// CHECK-SAME: %[[V:arg[0-9]+]]: tensor<4xf32> {hone.fqn = "variance.b"
// CHECK-SAME: %[[T:arg[0-9]+]]: tensor<i64> {hone.fqn = "step"
// CHECK: hone.adafactor %arg0, %{{.+}} variances(%[[R]], %[[C]]) lr %{{.+}} step %[[T]] grad_scale %{{.+}} apply
// CHECK: hone.adafactor %arg1, %{{.+}} variances(%[[V]])
module {
  func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
                     %b: tensor<4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %r = hone.broadcast %b dims [1] : tensor<4xf32> -> tensor<8x4xf32>
    %y = hone.mul %w, %r : tensor<8x4xf32>
    %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
