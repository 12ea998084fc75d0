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
func.func private @gradient() -> (tensor<f32> {hone.kind = "loss"})

// -----

// expected-error@+1 {{returns no gradient of 'w', expected one per argument that requires one}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{argument 0 has no name}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param"}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{argument 'w' requires a gradient, but has type 'i32'}}
func.func @gradient(%w: i32 {hone.kind = "param", hone.fqn = "w", hone.requires_grad}, %x: tensor<f32>) -> (tensor<f32> {hone.kind = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{returns a loss of type 'i32', expected a floating-point tensor}}
func.func @gradient(%w: i32 {hone.kind = "param", hone.fqn = "w"}) -> (i32 {hone.kind = "loss"}) {
  return %w : i32
}
