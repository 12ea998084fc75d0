// RUN: hone-opt %s --hone-verify-step --split-input-file --verify-diagnostics

// expected-error@+1 {{still has a function @gradient, the step phase consumes it}}
module {
  func.func @gradient() {
    return
  }
}

// -----

// expected-error@+1 {{expected a function @step, or @accumulate and @update}}
module {
  func.func @update() {
    return
  }
}

// -----

// expected-error@+1 {{has no function @evaluate}}
module {
  func.func @step() {
    return
  }
}

// -----

func.func private @evaluate()
// expected-error@+1 {{result 0 (param 'w') donates no argument, expected that of its name}}
func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "param", hone.fqn = "w"}) {
  return %w : tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{result 0 (param 'w') donates argument 7 of 1}}
func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.donates = 7}) {
  return %w : tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{result 0 (param 'w') donates param 'v', expected the argument of its kind and name}}
func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "v"}) -> (tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0}) {
  return %w : tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{result 0 (param 'w') has type 'tensor<f32>', but the argument it donates 'tensor<4xf32>'}}
func.func @step(%w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<f32>) -> (tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0}) {
  return %x : tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{result 1 (param 'w') donates argument 0, which an earlier result donates}}
func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"})
    -> (tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0}, tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{does not update parameter 'w', which requires a gradient}}
func.func @step(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad}) {
  return
}

// -----

func.func private @evaluate()
// expected-error@+1 {{returns 0 results of kind grad_norm and rank 0, expected one}}
func.func @step(%w: tensor<f32> {hone.kind = "input", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{returns 0 results of kind loss and rank 0, expected one}}
func.func @step(%w: tensor<f32> {hone.kind = "input", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "grad_norm"}) {
  return %w : tensor<f32>
}

// -----

func.func private @evaluate()
func.func private @update()
// expected-error@+1 {{returns 0 results of kind scalar named 'loss' and rank 0, expected one}}
func.func @accumulate() {
  return
}

// -----

func.func private @evaluate()
func.func private @update()
// expected-error@+1 {{result 0 (grad 'w') donates no argument, expected that of its name}}
func.func @accumulate(%g: tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
  return %g : tensor<f32>
}

// -----

func.func private @evaluate()
// expected-error@+1 {{scalar 'lr' has type 'tensor<1xf32>', expected rank 0}}
func.func @step(%w: tensor<1xf32> {hone.kind = "scalar", hone.fqn = "lr"}) {
  return
}

// -----

func.func private @evaluate()
func.func private @f()
func.func @step() {
  // expected-error@+1 {{'func.call' op is not an op of the hone dialect}}
  func.call @f() : () -> ()
  return
}

// -----

func.func private @evaluate()
// expected-error@+1 {{has no body of one block}}
func.func private @step()

// -----

func.func private @evaluate()
// expected-error@+1 {{does not update buffer 'b', which has hone.balance}}
func.func @step(%b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}}) {
  return
}
