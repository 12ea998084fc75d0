// RUN: hone-opt %s --hone-build-step="momentum=0.9" --verify-diagnostics

// expected-error@+1 {{hone.optimizer: momentum is 0.9, but adamw has no such setting}}
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
