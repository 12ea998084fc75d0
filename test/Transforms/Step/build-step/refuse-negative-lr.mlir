// RUN: hone-opt %s --hone-build-step="lr=-0.1" --verify-diagnostics

// expected-error@+1 {{hone.optimizer: lr is -1.000000e-01, expected a number >= 0}}
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
