// RUN: hone-opt %s --hone-build-step --split-input-file --verify-diagnostics

// expected-error@+1 {{hone.optimizer: lr is "fast", expected a number >= 0}}
module attributes {hone.optimizer = {name = "adamw", lr = "fast"}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: momentum is no setting of adamw}}
module attributes {hone.optimizer = {name = "adamw", momentum = 0.9 : f64}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: is "adamw", expected a dictionary with a name}}
module attributes {hone.optimizer = "adamw"} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 0 is {lr_scale = 1.000000e+00 : f64}, expected {lr_scale, decay_scale} with numbers >= 0}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64}]}} {
  // expected-error@+1 {{parameter 'w' is in group 1, but hone.optimizer has 1}}
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.param_group = 1})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: lr is one for all groups, expected lr_scale and decay_scale}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "sgd", lr = 0.5 : f64}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: has settings and no name, expected the name of their optimizer}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, beta1 = 0.5 : f64}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: name is 'rmsprop', expected adamw, sgd, lion, adafactor or muon}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "rmsprop"}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: beta1 is no setting of sgd}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "sgd", beta1 = 0.5 : f64}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: beta1 is 1.500000e+00, expected a number in [0, 1)}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "lion", beta1 = 1.5 : f64}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: nesterov is set with momentum 0, expected a momentum}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "sgd", nesterov}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{hone.optimizer: group 1: maximize is "no", expected a flag}}
module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "sgd", maximize = "no"}]}} {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    return %w : tensor<f32>
  }
}
