// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @sgd_c1(%p: tensor<8xf32>, %g: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op grad has shape [4], expected [8]}}
  %a = hone.sgd %p, %g lr %s weight_decay %s grad_scale %s
      : (tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @sgd_c1_buffer(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op new_buffer has type 'tensor<8xbf16>', expected 'tensor<8xf32>'}}
  %a, %b = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s buffer %p {momentum = 0.9}
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8xf32>)
      -> (tensor<8xf32>, tensor<8xbf16>)
  return
}

// -----

func.func @sgd_c2(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op has momentum 9.000000e-01 and no buffer operand and no buffer result, expected buffers exactly with momentum}}
  %a = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s {momentum = 0.9}
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @sgd_c2_unused(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op has momentum 0.000000e+00 and a buffer operand and no buffer result, expected buffers exactly with momentum}}
  %a = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s buffer %p
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @sgd_c3(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op is nesterov without momentum, expected momentum}}
  %a = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s {nesterov}
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @sgd_c2_results(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op has 2 results after new_param, expected at most 1}}
  %a, %b, %c = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>)
  return
}

// -----

func.func @sgd_c4(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.sgd' op new_working_copy has element type 'f32', expected a narrower one than that of param, 'f32'}}
  %a, %b = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @sgd_c5(%p: tensor<8xf32>, %s: tensor<f32>, %key: tensor<3xi64>) {
  // expected-error@+1 {{'hone.sgd' op has rng, expected param or a state of type bf16}}
  %a = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s rng %key
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @sgd_c6(%p: tensor<8xbf16>, %s: tensor<f32>, %key: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.sgd' op whole is [9], expected multiples of [8]}}
  %a = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s rng %key origin %o of [9]
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>, tensor<i64>) -> tensor<8xbf16>
  return
}
