// RUN: hone-opt %s --hone-build-step="micro-batches=0" --verify-diagnostics

// expected-error@+1 {{micro-batches is 0, expected at least 1}}
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
