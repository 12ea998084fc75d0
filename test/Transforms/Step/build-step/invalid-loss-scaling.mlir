// RUN: hone-opt %s --hone-build-step --verify-diagnostics --split-input-file
// RUN: not hone-opt %s --hone-build-step=loss-scale=0.0 --split-input-file 2>&1 | FileCheck %s

// expected-error@+2 {{loss_cotangent has type 'tensor<f64>', expected 'tensor<f32>'}}
// CHECK: error: loss_cotangent has type 'tensor<f64>'
func.func @gradient(
    %w: tensor<f64> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %c: tensor<f64> {hone.kind = "scalar", hone.fqn = "loss_cotangent"})
    -> (tensor<f64> {hone.kind = "loss"}, tensor<f64> {hone.kind = "grad", hone.fqn = "w"}) {
  return %w, %c : tensor<f64>, tensor<f64>
}

// -----

// CHECK: error: loss-scale is 0.000000e+00 and growth-interval 2000, expected a finite number above 0 and at least 1
func.func @gradient(
    %w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %c: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss_cotangent"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
  return %w, %c : tensor<f32>, tensor<f32>
}
