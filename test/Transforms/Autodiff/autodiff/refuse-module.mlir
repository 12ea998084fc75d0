// RUN: hone-opt %s --hone-autodiff --split-input-file --verify-diagnostics

// expected-error@+1 {{has no function @forward}}
module {
}

// -----

// expected-error@+1 {{has a function @evaluate already, expected @forward alone}}
module {
  func.func @forward(%x: tensor<f32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %x : tensor<f32>
  }
  func.func @evaluate() {
    return
  }
}

// -----

// expected-error@+1 {{the loss depends on no parameter that requires a gradient, expected at least one}}
func.func @forward(%x: tensor<f32> {hone.kind = "param", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{is no function of one block that returns one loss}}
func.func @forward(%x: tensor<f32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32>, tensor<f32>) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{returns a loss that is no floating-point tensor, expected one}}
func.func @forward(%x: tensor<i64> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<i64> {hone.kind = "loss"}) {
  return %x : tensor<i64>
}

// -----

// expected-error@+1 {{is no function of one block that returns one loss}}
func.func private @forward() -> tensor<f32>
