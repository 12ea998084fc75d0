// RUN: hone-opt %s --hone-verify-raise --split-input-file --verify-diagnostics

// The contract after raising. First a graph that keeps it: an op without a rule, off the path, is no violation.

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %m = hone.softmax_bwd %c, %c : tensor<4x8xf32>
  %y = hone.mul %x, %m : tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A gradient that is given needs no rule, and one that is stopped none either.
func.func @forward(%x: tensor<8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.custom_gradient values(%x : tensor<8xf32>) inputs(%x : tensor<8xf32>) {
  ^bb0(%g: tensor<8xf32>):
    hone.yield %g : tensor<8xf32>
  }
  %fixed = hone.stop_gradient %x : tensor<8xf32>
  %z = hone.select_mode training %y evaluation %fixed : tensor<8xf32>
  %loss = hone.reduce sum %z dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.softmax_bwd' op has no gradient, and lies between a parameter that requires one and the loss}}
  %m = hone.softmax_bwd %x, %x : tensor<4x8xf32>
  %loss = hone.reduce sum %m dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%x: tensor<1x4x2x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %m: tensor<1x2x4x4xf32> {hone.kind = "param", hone.fqn = "bias", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.attention' op has a mask that depends on a parameter that requires a gradient}}
  %y, %lse = hone.attention %x, %x, %x mask %m scale 0.5
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x2x4x4xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  %loss = hone.reduce sum %y dims [0, 1, 2, 3] : tensor<1x4x2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%x: tensor<1x4x2x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %c: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "cos", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.rope' op has a table that depends on a parameter that requires a gradient}}
  %y = hone.rope half %x, %c, %c : tensor<1x4x2x8xf32>, tensor<4x4xf32>
  %loss = hone.reduce sum %y dims [0, 1, 2, 3] : tensor<1x4x2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@+1 {{has no function @forward}}
module {
}

// -----

// expected-error@+1 {{is no function of one block that returns one loss}}
func.func @forward() {
  return
}

// -----

func.func @forward() -> tensor<f32> {
  // expected-error@+1 {{'func.call' op is not an op of the hone dialect}}
  %y = func.call @f() : () -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f() -> tensor<f32>
