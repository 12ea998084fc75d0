// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @rms_norm_c1(%x: tensor<f32>) {
  // expected-error@+1 {{'hone.rms_norm' op input has rank 0, expected at least 1}}
  %y, %r = hone.rms_norm %x eps 1.0e-05 : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @rms_norm_c1_result(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.rms_norm' op result has type 'tensor<64x8xf32>', expected 'tensor<8x64xf32>'}}
  %y, %r = hone.rms_norm %x eps 1.0e-05 : (tensor<8x64xf32>) -> (tensor<64x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<8x64xf32>, %g: tensor<8xf32>) {
  // expected-error@+1 {{'hone.rms_norm' op scale has shape [8], expected [64]}}
  %y, %r = hone.rms_norm %x scale %g eps 1.0e-05
      : (tensor<8x64xf32>, tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.rms_norm' op rstd has shape [8, 64], expected [8]}}
  %y, %r = hone.rms_norm %x eps 1.0e-05 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return
}

// -----

func.func @rms_norm_c4(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y, %r = hone.rms_norm %x eps 1.0e-05 width 65 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return
}
