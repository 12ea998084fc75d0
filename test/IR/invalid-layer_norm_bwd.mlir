// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @layer_norm_bwd_c1(%g: tensor<8x64xbf16>, %x: tensor<8x64xf32>, %m: tensor<8xf32>) {
  // expected-error@+1 {{'hone.layer_norm_bwd' op grad has type 'tensor<8x64xbf16>', expected 'tensor<8x64xf32>'}}
  %d = hone.layer_norm_bwd %g, %x, %m, %m
      : (tensor<8x64xbf16>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @layer_norm_bwd_c1_result(%x: tensor<8x64xf32>, %m: tensor<8xf32>) {
  // expected-error@+1 {{'hone.layer_norm_bwd' op result has type 'tensor<8x32xf32>', expected 'tensor<8x64xf32>'}}
  %d = hone.layer_norm_bwd %x, %x, %m, %m
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x32xf32>
  return
}

// -----

func.func @layer_norm_bwd_c1_rank(%x: tensor<f32>) {
  // expected-error@+1 {{'hone.layer_norm_bwd' op input has rank 0, expected at least 1}}
  %d = hone.layer_norm_bwd %x, %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @layer_norm_bwd_c2(%x: tensor<8x64xf32>, %m: tensor<8x1xf32>, %r: tensor<8xf32>) {
  // expected-error@+1 {{'hone.layer_norm_bwd' op mean has shape [8, 1], expected [8]}}
  %d = hone.layer_norm_bwd %x, %x, %m, %r
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x1xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @layer_norm_bwd_c2_rstd(%x: tensor<8x64xf32>, %m: tensor<8xf32>, %r: tensor<64xf32>) {
  // expected-error@+1 {{'hone.layer_norm_bwd' op rstd has shape [64], expected [8]}}
  %d = hone.layer_norm_bwd %x, %x, %m, %r
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @layer_norm_bwd_c3(%x: tensor<8x64xf32>, %m: tensor<8xf32>) {
  // expected-error@+1 {{'hone.layer_norm_bwd' op scale has shape [8], expected [64]}}
  %d = hone.layer_norm_bwd %x, %x, %m, %m scale %m
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @layer_norm_bwd_c4(%x: tensor<8x64xf32>, %r: tensor<8xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y = hone.layer_norm_bwd %x, %x, %r, %r width 65 : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}
