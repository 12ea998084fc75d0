// RUN: hone-opt %s --hone-build-step="beta2=1.0" --verify-diagnostics

// expected-error@+1 {{hone.optimizer: beta2 is 1.000000e+00, expected a number in [0, 1)}}
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
