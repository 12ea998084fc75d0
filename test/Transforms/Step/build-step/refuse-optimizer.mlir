// RUN: hone-opt %s --hone-build-step="optimizer=lamb" --verify-diagnostics

// expected-error@+1 {{hone.optimizer: name is 'lamb', expected adamw, sgd, lion, adafactor or muon}}
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
