// RUN: hone-opt %s --hone-verify-import --split-input-file --verify-diagnostics

// Optimizer state and no loss: the step phase checks what a step returns.
module attributes {hone.whole_step} {
  func.func @step(%m: tensor<f32> {hone.kind = "opt", hone.fqn = "m", hone.init = {dist = "constant", value = 0.0 : f64}}) {
    return
  }
}

// -----

// expected-error@+1 {{has no function @step}}
module attributes {hone.whole_step} {
  func.func @forward(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.init = {dist = "constant", value = 0.0 : f64}})
      -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{has no function @forward}}
module {
  func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.init = {dist = "constant", value = 0.0 : f64}}) {
    return
  }
}

// -----

module attributes {hone.whole_step} {
  // expected-error@+1 {{argument 0 ('lr') has kind 'scalar', expected param, opt, buffer, input or rng}}
  func.func @step(%lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"}) {
    return
  }
}

// -----

module attributes {hone.whole_step} {
  // expected-error@+1 {{argument 0 ('m') has no hone.init, expected one on all state}}
  func.func @step(%m: tensor<f32> {hone.kind = "opt", hone.fqn = "m"}) {
    return
  }
}

// -----

module attributes {hone.whole_step} {
  // expected-error@+1 {{argument 0 ('w') requires a gradient, expected none: @step holds the updates already}}
  func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.init = {dist = "constant", value = 0.0 : f64}}) {
    return
  }
}

// -----

// expected-error@+1 {{hone.whole_step is on no module, expected a unit attribute on a module}}
func.func @f() attributes {hone.whole_step} {
  return
}
