// RUN: hone-opt %s --hone-build-step="optimizer=sgd nesterov" --verify-diagnostics

// expected-error@+1 {{hone.optimizer: nesterov is set with momentum 0, expected a momentum}}
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
