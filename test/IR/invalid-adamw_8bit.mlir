// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @adamw_8bit_c1(%p: tensor<8x300xf32>, %g: tensor<8x301xf32>, %m: tensor<8x300xi8>, %s: tensor<8x2xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op grad has shape [8, 301], expected [8, 300]}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8x300xf32>, tensor<8x301xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>)
  return
}

// -----

func.func @adamw_8bit_c1_codes(%p: tensor<8x300xf32>, %g: tensor<8x300xf32>, %m: tensor<8x4xi8>, %s: tensor<8x2xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op exp_avg has shape [8, 4], expected [8, 300]}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8x300xf32>, tensor<8x300xf32>, tensor<8x4xi8>, tensor<8x2xf32>, tensor<8x4xi8>, tensor<8x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf32>, tensor<8x4xi8>, tensor<8x2xf32>, tensor<8x4xi8>, tensor<8x2xf32>)
  return
}

// -----

func.func @adamw_8bit_c1_rank(%p: tensor<f32>, %g: tensor<f32>, %m: tensor<i8>, %s: tensor<1xf32>, %x: tensor<f32>,
    %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op param has rank 0, expected at least 1}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<f32>, tensor<f32>, tensor<i8>, tensor<1xf32>, tensor<i8>, tensor<1xf32>, tensor<f32>, tensor<f32>,
         tensor<i64>,
         tensor<f32>) -> (tensor<f32>, tensor<i8>, tensor<1xf32>, tensor<i8>, tensor<1xf32>)
  return
}

// -----

func.func @adamw_8bit_c2(%p: tensor<8x300xf32>, %g: tensor<8x300xf32>, %m: tensor<8x300xi8>, %s: tensor<10xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op exp_avg_scale has shape [10], expected [8, 2]}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8x300xf32>, tensor<8x300xf32>, tensor<8x300xi8>, tensor<10xf32>, tensor<8x300xi8>, tensor<10xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf32>, tensor<8x300xi8>, tensor<10xf32>, tensor<8x300xi8>, tensor<10xf32>)
  return
}

// -----

func.func @adamw_8bit_c3(%p: tensor<8x300xf32>, %g: tensor<8x300xf32>, %m: tensor<8x300xi8>, %s: tensor<8x2xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op beta1 is 1.000000e+00, expected 0 <= beta1 < 1}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 1.0, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8x300xf32>, tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>)
  return
}

// -----

func.func @adamw_8bit_c3_eps(%p: tensor<8x300xf32>, %g: tensor<8x300xf32>, %m: tensor<8x300xi8>, %s: tensor<8x2xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op eps is -1.000000e-08, expected eps >= 0}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = -1.0e-08}
      : (tensor<8x300xf32>, tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>)
  return
}

// -----

func.func @adamw_8bit_c4(%p: tensor<8x300xf32>, %g: tensor<8x300xf32>, %m: tensor<8x300xi8>, %s: tensor<8x2xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op new_working_copy has element type 'f32', expected a narrower one than that of param, 'f32'}}
  %r:6 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8x300xf32>, tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf32>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>,
         tensor<8x300xf32>)
  return
}

// -----

func.func @adamw_8bit_c5(%p: tensor<8x300xf64>, %g: tensor<8x300xf64>, %m: tensor<8x300xi8>, %s: tensor<8x2xf32>,
    %x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adamw_8bit' op param has element type 'f64', expected f32 or less}}
  %r:5 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<8x300xf64>, tensor<8x300xf64>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x300xf64>, tensor<8x300xi8>, tensor<8x2xf32>, tensor<8x300xi8>, tensor<8x2xf32>)
  return
}
