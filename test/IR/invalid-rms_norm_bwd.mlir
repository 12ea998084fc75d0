// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @rms_norm_bwd_c1(%g: tensor<8x64xbf16>, %x: tensor<8x64xf32>, %r: tensor<8xf32>) {
  // expected-error@+1 {{'hone.rms_norm_bwd' op grad has type 'tensor<8x64xbf16>', expected 'tensor<8x64xf32>'}}
  %d = hone.rms_norm_bwd %g, %x, %r : (tensor<8x64xbf16>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @rms_norm_bwd_c1_result(%x: tensor<8x64xf32>, %r: tensor<8xf32>) {
  // expected-error@+1 {{'hone.rms_norm_bwd' op result has type 'tensor<64x8xf32>', expected 'tensor<8x64xf32>'}}
  %d = hone.rms_norm_bwd %x, %x, %r : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<64x8xf32>
  return
}

// -----

func.func @rms_norm_bwd_c2(%x: tensor<8x64xf32>, %r: tensor<64xf32>) {
  // expected-error@+1 {{'hone.rms_norm_bwd' op rstd has shape [64], expected [8]}}
  %d = hone.rms_norm_bwd %x, %x, %r : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @rms_norm_bwd_c3(%x: tensor<8x64xf32>, %r: tensor<8xf32>) {
  // expected-error@+1 {{'hone.rms_norm_bwd' op scale has shape [8], expected [64]}}
  %d = hone.rms_norm_bwd %x, %x, %r scale %r
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @rms_norm_bwd_c4(%x: tensor<8x64xf32>, %r: tensor<8xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y = hone.rms_norm_bwd %x, %x, %r width 65 : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}
