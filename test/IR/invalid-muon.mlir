// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @muon_c1(%p: tensor<8x4xf32>, %g: tensor<4x8xf32>, %m: tensor<8x4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.muon' op grad has shape [4, 8], expected [8, 4]}}
  %r0, %r1 = hone.muon %p, %g, %m lr %s weight_decay %s grad_scale %s {momentum = 0.5, eps = 0.0}
      : (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @muon_c1_state(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.muon' op new_buffer has type 'tensor<8x4xbf16>', expected 'tensor<8x4xf32>'}}
  %r0, %r1 = hone.muon %p, %g, %m lr %s weight_decay %s grad_scale %s {momentum = 0.5, eps = 0.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xbf16>)
  return
}

// -----

func.func @muon_c2(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.muon' op param has rank 1, expected 2}}
  %r0, %r1 = hone.muon %p, %g, %m lr %s weight_decay %s grad_scale %s {momentum = 0.5, eps = 0.0}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @muon_c3(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.muon' op momentum is 1.000000e+00, expected 0 <= momentum < 1}}
  %r0, %r1 = hone.muon %p, %g, %m lr %s weight_decay %s grad_scale %s {momentum = 1.0, eps = 0.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @muon_c3_eps(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.muon' op eps is -1.000000e+00, expected eps >= 0}}
  %r0, %r1 = hone.muon %p, %g, %m lr %s weight_decay %s grad_scale %s {momentum = 0.5, eps = -1.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @muon_c4(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.muon' op new_working_copy has element type 'f32', expected a narrower one than that of param, 'f32'}}
  %r0, %r1, %r2 = hone.muon %p, %g, %m lr %s weight_decay %s grad_scale %s {momentum = 0.5, eps = 0.0}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  return
}
