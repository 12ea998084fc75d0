// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @layer_norm_c1(%x: tensor<f32>) {
  // expected-error@+1 {{'hone.layer_norm' op input has rank 0, expected at least 1}}
  %y, %m, %r = hone.layer_norm %x eps 1.0e-05 : (tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_c1_result(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.layer_norm' op result has type 'tensor<8x64xbf16>', expected 'tensor<8x64xf32>'}}
  %y, %m, %r = hone.layer_norm %x eps 1.0e-05
      : (tensor<8x64xf32>) -> (tensor<8x64xbf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<8x64xf32>, %g: tensor<8xf32>) {
  // expected-error@+1 {{'hone.layer_norm' op scale has shape [8], expected [64]}}
  %y, %m, %r = hone.layer_norm %x scale %g eps 1.0e-05
      : (tensor<8x64xf32>, tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_c2_bias(%x: tensor<8x64xf32>, %b: tensor<1x64xf32>) {
  // expected-error@+1 {{'hone.layer_norm' op bias has shape [1, 64], expected [64]}}
  %y, %m, %r = hone.layer_norm %x bias %b eps 1.0e-05
      : (tensor<8x64xf32>, tensor<1x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_c3(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.layer_norm' op mean has shape [8, 1], expected [8]}}
  %y, %m, %r = hone.layer_norm %x eps 1.0e-05
      : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x1xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_c3_rstd(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.layer_norm' op rstd has shape [64], expected [8]}}
  %y, %m, %r = hone.layer_norm %x eps 1.0e-05
      : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>)
  return
}

// -----

func.func @layer_norm_c4(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y, %m, %r = hone.layer_norm %x eps 1.0e-05 width 65 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}
