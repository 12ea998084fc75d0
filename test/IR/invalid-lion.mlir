// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @lion_c1(%p: tensor<8xf32>, %g: tensor<4xf32>, %m: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.lion' op grad has shape [4], expected [8]}}
  %a, %b = hone.lion %p, %g, %m lr %s weight_decay %s grad_scale %s {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>,
         tensor<8xf32>)
  return
}

// -----

func.func @lion_c1_state(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.lion' op new_exp_avg has type 'tensor<8xbf16>', expected 'tensor<8xf32>'}}
  %a, %b = hone.lion %p, %g, %m lr %s weight_decay %s grad_scale %s {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>,
         tensor<8xbf16>)
  return
}

// -----

func.func @lion_c2(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.lion' op beta1 is 1.000000e+00, expected 0 <= beta1 < 1}}
  %a, %b = hone.lion %p, %g, %m lr %s weight_decay %s grad_scale %s {beta1 = 1.0, beta2 = 0.99}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>,
         tensor<8xf32>)
  return
}

// -----

func.func @lion_c3(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.lion' op new_working_copy has element type 'f32', expected a narrower one than that of param, 'f32'}}
  %a, %b, %c = hone.lion %p, %g, %m lr %s weight_decay %s grad_scale %s {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>,
         tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @lion_c4(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %s: tensor<f32>, %key: tensor<3xi64>) {
  // expected-error@+1 {{'hone.lion' op has rng, expected param or a state of type bf16}}
  %a, %b = hone.lion %p, %g, %m lr %s weight_decay %s grad_scale %s rng %key {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>,
         tensor<3xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @lion_c4_key(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xbf16>, %s: tensor<f32>, %key: tensor<2xi64>) {
  // expected-error@+1 {{'hone.lion' op rng has shape [2], expected [3]}}
  %a, %b = hone.lion %p, %g, %m lr %s weight_decay %s grad_scale %s rng %key {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>,
         tensor<2xi64>) -> (tensor<8xf32>, tensor<8xbf16>)
  return
}

// -----

func.func @lion_c5(%p: tensor<8xbf16>, %s: tensor<f32>, %key: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.lion' op whole is [4], expected multiples of [8]}}
  %a, %b = hone.lion %p, %p, %p lr %s weight_decay %s grad_scale %s rng %key origin %o of [4] {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>,
         tensor<3xi64>, tensor<i64>) -> (tensor<8xbf16>, tensor<8xbf16>)
  return
}
