// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @adamw_c1(%p: tensor<8xf32>, %g: tensor<4xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op grad has shape [4], expected [8]}}
  %a, %b, %c = hone.adamw %p, %g, %p, %p lr %s weight_decay %s step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c1_state(%p: tensor<8xbf16>, %m: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op new_exp_avg_sq has type 'tensor<8xbf16>', expected 'tensor<8xf32>'}}
  %a, %b, %c = hone.adamw %p, %p, %m, %m lr %s weight_decay %s step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>)
  return
}

// -----

func.func @adamw_c2(%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op beta1 is 1.000000e+00, expected 0 <= beta1 < 1}}
  %a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s {beta1 = 1.0, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c2_beta2(%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op beta2 is -5.000000e-01, expected 0 <= beta2 < 1}}
  %a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s {beta1 = 0.9, beta2 = -0.5, eps = 1.0e-08}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c2_eps(%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op eps is -1.000000e-08, expected eps >= 0}}
  %a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = -1.0e-08}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c1_working_copy(%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op new_working_copy has shape [4], expected [8]}}
  %a, %b, %c, %d = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xbf16>)
  return
}

// -----

func.func @adamw_c3(%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw' op new_working_copy has element type 'f32', expected a narrower one than that of param, 'f32'}}
  %a, %b, %c, %d = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c4(%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>, %key: tensor<3xi64>) {
  // expected-error@+1 {{'hone.adamw' op has rng, expected param or a state of type bf16}}
  %a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s rng %key {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>, tensor<3xi64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c4_key(%p: tensor<8xbf16>, %s: tensor<f32>, %t: tensor<i64>, %key: tensor<2xi64>) {
  // expected-error@+1 {{'hone.adamw' op rng has shape [2], expected [3]}}
  %a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s rng %key {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>, tensor<2xi64>) -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  return
}

// -----

func.func @adamw_c5(%p: tensor<8xbf16>, %s: tensor<f32>, %t: tensor<i64>, %key: tensor<3xi64>) {
  // expected-error@+1 {{'hone.adamw' op whole is [8, 8], expected multiples of [8]}}
  %a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s step %t grad_scale %s rng %key origin %t of [8, 8] {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<i64>,
      tensor<f32>, tensor<3xi64>, tensor<i64>) -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  return
}
