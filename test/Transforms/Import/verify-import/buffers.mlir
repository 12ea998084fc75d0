// RUN: hone-opt %s --hone-verify-import --verify-diagnostics --split-input-file

// A result of kind buffer replaces an argument of that kind, once.

func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}},
    %mean: tensor<f32> {hone.kind = "buffer", hone.fqn = "mean", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "buffer", hone.fqn = "mean"}) {
  %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss, %mean : tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{result 1 (buffer 'w') replaces no buffer, expected the name of an argument of kind buffer that no earlier result replaces}}
func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "buffer", hone.fqn = "w"}) {
  %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss, %loss : tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{result 2 (buffer 'mean') replaces no buffer}}
func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}},
    %mean: tensor<f32> {hone.kind = "buffer", hone.fqn = "mean", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "buffer", hone.fqn = "mean"},
        tensor<f32> {hone.kind = "buffer", hone.fqn = "mean"}) {
  %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss, %loss, %mean : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{result 1 (buffer 'mean') has type 'tensor<f64>', expected 'tensor<f32>' as its argument}}
func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}},
    %mean: tensor<f32> {hone.kind = "buffer", hone.fqn = "mean", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<f64> {hone.kind = "buffer", hone.fqn = "mean"}) {
  %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
  %wide = hone.cast %mean : tensor<f32> -> tensor<f64>
  return %loss, %wide : tensor<f32>, tensor<f64>
}

// -----

// A bias that balances experts has counts.

// expected-error@+1 {{argument 1 ('bias') has counts 'c', expected a buffer that @forward returns changed}}
func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}},
    %bias: tensor<8xf32> {hone.kind = "buffer", hone.fqn = "bias", hone.init = {dist = "constant", value = 0.0 : f64},
                          hone.balance = {counts = "c", rate = 0.5}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

module attributes {hone.whole_step} {
  // expected-error@+1 {{argument 0 ('bias') has hone.balance, expected none: @step holds the updates already}}
  func.func @step(%bias: tensor<8xf32> {hone.kind = "buffer", hone.fqn = "bias",
                                        hone.init = {dist = "constant", value = 0.0 : f64},
                                        hone.balance = {counts = "c", rate = 0.5}})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %loss = hone.reduce sum %bias dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
