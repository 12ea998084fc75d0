// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step | FileCheck %s
// RUN: hone-opt %s --hone-autodiff --hone-build-step="momentum=0.5" | FileCheck %s --check-prefix=OPTION
// RUN: not hone-opt %s --hone-autodiff --hone-build-step="optimizer=muon" 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not hone-opt %s --hone-autodiff --hone-build-step="momentum=1.0" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not hone-opt %s --hone-autodiff --hone-build-step="moments=bf16" 2>&1 | FileCheck %s --check-prefix=BF16

// The rate of a matrix depends on its shape in files: 6x4, of which 8x4 is the padded one.
// CHECK: groups = [{decay_scale = 1.000000e+00 : f64, lr_scale = 1.000000e+00 : f64},
// CHECK-SAME: {decay_scale = 0.000000e+00 : f64, eps = 9.9999999999999995E-8 : f64, lr_scale = 5.000000e-01 : f64, match_rms_adamw, momentum = 7.500000e-01 : f64, name = "muon"},
// CHECK-SAME: name = "sgd"}],
// CHECK-SAME: momentum = 0.94999999999999996 : f64, name = "muon", nesterov, weight_decay = 1.000000e-01 : f64
// CHECK-LABEL: @step
// CHECK-SAME: tensor<8x4xf32> {hone.fqn = "momentum.w", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt", hone.parts = [#hone.part<"momentum.w"
// CHECK-SAME: tensor<4x4xf32> {hone.fqn = "momentum.v"
// CHECK: hone.muon {{.*}} {eps = 9.9999999999999995E-8 : f64, momentum = 0.94999999999999996 : f64, nesterov, shape_scale = 1.2247448713915889 : f64}
// CHECK: hone.muon {{.*}} {decay_scale = 0.000000e+00 : f64, eps = 9.9999999999999995E-8 : f64, lr_scale = 5.000000e-01 : f64, momentum = 7.500000e-01 : f64, shape_scale = 4.000000e-01 : f64}
// OPTION-COUNT-2: hone.muon {{.*}} momentum = 5.000000e-01 : f64

// VECTOR: error: parameter 'b' has rank 1, but muon updates matrices, expected it in the group of another optimizer
// ONE: error: hone.optimizer: momentum is 1.000000e+00, expected a number in [0, 1)
// BF16: error: hone.optimizer: moments is 'bf16', but muon has them in fp32 only
module attributes {hone.optimizer = {name = "muon", nesterov, groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 0.5 : f64, decay_scale = 0.0 : f64, name = "muon", momentum = 0.75 : f64, match_rms_adamw},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "sgd"}]}} {
  func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.param_group = 0,
                                          hone.parts = [#hone.part<"w", offset = [0, 0], shape = [6, 4]>]},
                     %v: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "v", hone.requires_grad, hone.param_group = 1},
                     %b: tensor<4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad, hone.param_group = 2})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %r = hone.broadcast %b dims [1] : tensor<4xf32> -> tensor<8x4xf32>
    %x = hone.dot_general %w, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %y = hone.mul %x, %r : tensor<8x4xf32>
    %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
