// RUN: hone-opt %s --hone-low-state --verify-diagnostics

func.func @step(
    %w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %v: tensor<4xf32> {hone.kind = "opt", hone.fqn = "variance.w"},
    %x: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"}, %t: tensor<i64> {hone.kind = "scalar", hone.fqn = "step"})
    -> (tensor<4xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<4xf32> {hone.kind = "opt", hone.fqn = "variance.w", hone.donates = 1 : i64}) {
  // expected-error@+1 {{'hone.adafactor' op rounds to nearest only, expected an update that can round its state in bf16 at random}}
  %w1, %v1 = hone.adafactor %w, %w variances (%v) lr %x weight_decay %x step %t grad_scale %x
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>)
  return %w1, %v1 : tensor<4xf32>, tensor<4xf32>
}
