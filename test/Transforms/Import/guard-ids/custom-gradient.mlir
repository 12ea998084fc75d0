// RUN: hone-opt %s --hone-guard-ids --verify-diagnostics --split-input-file

// The body of a custom gradient can return no check of ids: their bounds must be known.

func.func @forward(%w: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %ids: tensor<4x8xi64> {hone.kind = "input", hone.fqn = "ids", hone.vocab = 4 : i64})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.custom_gradient values(%w : tensor<4x8xf32>) inputs(%w : tensor<4x8xf32>) saved(%ids : tensor<4x8xi64>) {
  ^bb0(%g: tensor<4x8xf32>, %saved: tensor<4x8xi64>):
    %r = hone.take_along %g, %saved dim 0 : tensor<4x8xf32>, tensor<4x8xi64> -> tensor<4x8xf32>
    hone.yield %r : tensor<4x8xf32>
  }
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%w: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %ids: tensor<4x8xi64> {hone.kind = "input", hone.fqn = "ids", hone.vocab = 5 : i64})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.custom_gradient values(%w : tensor<4x8xf32>) inputs(%w : tensor<4x8xf32>) saved(%ids : tensor<4x8xi64>) {
  ^bb0(%g: tensor<4x8xf32>, %saved: tensor<4x8xi64>):
    // expected-error@+1 {{'hone.take_along' op reads ids from 0 to 4, expected 0 to 3}}
    %r = hone.take_along %g, %saved dim 0 : tensor<4x8xf32>, tensor<4x8xi64> -> tensor<4x8xf32>
    hone.yield %r : tensor<4x8xf32>
  }
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
