// RUN: hone-opt %s --hone-verify-gradient --split-input-file --verify-diagnostics

// The contract after autodiff: each violation is named. First a module that keeps it.

module {
  func.func @gradient(%x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<4xf32> {hone.kind = "grad", hone.fqn = "x"}) {
    %loss = hone.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    %g = hone.constant dense<1.0> : tensor<4xf32>
    return %loss, %g : tensor<f32>, tensor<4xf32>
  }
  func.func @evaluate(%x: tensor<f32>) -> (tensor<f32> {hone.kind = "loss"}) {
    return %x : tensor<f32>
  }
}

// -----

// expected-error@+1 {{has no function @gradient}}
module {
}

// -----

// expected-error@+2 {{returns no gradient of 'x', expected one per argument that requires one}}
module {
  func.func @gradient(%x: tensor<f32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %x : tensor<f32>
  }
}

// -----

// expected-error@+2 {{result 1 is grad 'y', expected grad 'x'}}
module {
  func.func @gradient(%x: tensor<f32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "y"}) {
    return %x, %x : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error@+2 {{gradient of 'x' has type 'tensor<f32>', expected 'tensor<4xf32>'}}
module {
  func.func @gradient(%l: tensor<f32>, %x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "x"}) {
    return %l, %l : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error@+2 {{returns 3 results, expected the loss, 1 gradients, then buffers, checks of ids and dropped rows}}
module {
  func.func @gradient(%x: tensor<f32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "x"}, tensor<f32>) {
    return %x, %x, %x : tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// -----

module {
  func.func @gradient(%x: tensor<f32>) -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-error@+1 {{'hone.stop_gradient' op is left in @gradient, autodiff consumes it}}
    %y = hone.stop_gradient %x : tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

// expected-error@+2 {{does not return the loss first}}
module {
  func.func @gradient(%x: tensor<f32>) -> (tensor<f32> {hone.kind = "grad", hone.fqn = "x"}) {
    return %x : tensor<f32>
  }
}

// -----

module {
  func.func @gradient(%x: tensor<f32>) -> (tensor<f32> {hone.kind = "loss"}) {
    return %x : tensor<f32>
  }
  func.func @evaluate(%x: tensor<f32>, %key: tensor<3xi64>) -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-error@+1 {{'hone.dropout' op is left in @evaluate, which drops nothing}}
    %y = hone.dropout %x, %key p 0.5 salt 1 : tensor<f32>, tensor<3xi64>
    return %y : tensor<f32>
  }
}

// -----

module {
  func.func @gradient(%x: tensor<f32>) -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-error@+1 {{'func.call' op is not an op of the hone dialect}}
    %y = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @f(tensor<f32>) -> tensor<f32>
}

// -----

// expected-error@+1 {{has no body of one block}}
func.func private @gradient() -> (tensor<f32> {hone.kind = "loss"})
