// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @adafactor_c1(%p: tensor<8x4xf32>, %g: tensor<8x5xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op grad has shape [8, 5], expected [8, 4]}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x5xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adafactor_c1_results(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op has 1 results after new_param, expected 2, and one more for a working copy}}
  %r:2 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adafactor_c1_means(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op new variance 1 has type 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<5xf32>)
  return
}

// -----

func.func @adafactor_c2(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %s: tensor<f32>,
    %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op has 1 variances, expected 2 for rank 2}}
  %r:2 = hone.adafactor %p, %g variances (%v0) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adafactor_c2_rows(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<4xf32>, %v1: tensor<8xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op variance 0 has shape [4], expected [8]}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<4xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adafactor_c2_vector(%p: tensor<8xf32>, %g: tensor<8xf32>, %v0: tensor<4xf32>, %s: tensor<f32>,
    %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op variance 0 has shape [4], expected [8]}}
  %r:2 = hone.adafactor %p, %g variances (%v0) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adafactor_c3(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op beta2_decay is 8.000000e-01, expected beta2_decay <= 0}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = 0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adafactor_c3_eps1(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op eps1 is -1.000000e+00, expected eps1 >= 0}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = -1.0, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adafactor_c3_eps2(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op eps2 is -1.000000e+00, expected eps2 >= 0}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = -1.0, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adafactor_c3_threshold(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op clip_threshold is 5.000000e-01, expected clip_threshold >= 1}}
  %r:3 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 0.5}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adafactor_c4(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %v0: tensor<8xf32>, %v1: tensor<4xf32>,
    %s: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.adafactor' op new_working_copy has element type 'f32', expected a narrower one than that of param, 'f32'}}
  %r:4 = hone.adafactor %p, %g variances (%v0, %v1) lr %s weight_decay %s step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8x4xf32>)
  return
}
