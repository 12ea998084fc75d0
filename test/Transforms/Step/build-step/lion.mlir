// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=lion lr=0.25" --hone-verify-step | FileCheck %s

// CHECK: hone.optimizer = {beta1 = 9.000000e-01 : f64, beta2 = 0.98999999999999999 : f64, clip = 0x7FF0000000000000 : f64,
// CHECK-SAME: groups = {{.*}} lr = 2.500000e-01 : f64, name = "lion", weight_decay = 0.000000e+00 : f64}
// CHECK-LABEL: @step
// CHECK-SAME: tensor<8x4xf32> {hone.fqn = "exp_avg.w", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt"}
// CHECK-SAME: tensor<4xf32> {hone.fqn = "exp_avg.b"
// CHECK: hone.lion %{{.+}}, %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} grad_scale %{{.+}} apply %{{.+}} {beta1 = 9.000000e-01 : f64,
// CHECK: hone.lion
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
