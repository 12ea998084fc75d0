// RUN: hone-opt %s --hone-build-step --split-input-file --verify-diagnostics

// expected-error@+1 {{has no function @gradient: run hone-autodiff before hone-build-step}}
module {
}

// -----

// expected-error@+1 {{argument 0 has kind 'scalar', expected param, buffer, input or rng}}
func.func @gradient(%w: tensor<f32> {hone.kind = "scalar", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}

// -----

// One micro-batch, but gradients of a part of the loss.

// expected-error@+1 {{gradients are seeded with 2.500000e-01, expected 1 for one micro-batch and 1/K for K}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) attributes {hone.seed = 0.25 : f64} {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{has no body of one block}}
func.func private @gradient()

// -----

// expected-error@+1 {{returns 1 results, expected the loss and 1 gradients}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}
