// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @cross_entropy_bwd_c1(%g: tensor<f32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %l: tensor<16xf32>) {
  // expected-error@+1 {{'hone.cross_entropy_bwd' op lse has shape [16], expected [32]}}
  %d = hone.cross_entropy_bwd mean %g, %x, %t, %l ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<16xf32>) -> tensor<32x256xf32>
  return
}

// -----

func.func @cross_entropy_bwd_c1_result(%g: tensor<f32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %l: tensor<32xf32>) {
  // expected-error@+1 {{'hone.cross_entropy_bwd' op result has type 'tensor<32x256xbf16>', expected 'tensor<32x256xf32>'}}
  %d = hone.cross_entropy_bwd mean %g, %x, %t, %l ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xbf16>
  return
}

// -----

func.func @cross_entropy_bwd_c2(%g: tensor<32xf32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %l: tensor<32xf32>) {
  // expected-error@+1 {{'hone.cross_entropy_bwd' op grad has shape [32], expected []}}
  %d = hone.cross_entropy_bwd mean %g, %x, %t, %l ignore_index -100 label_smoothing 0.0
      : (tensor<32xf32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  return
}

// -----

func.func @cross_entropy_bwd_c2_none(%g: tensor<f32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %l: tensor<32xf32>) {
  // expected-error@+1 {{'hone.cross_entropy_bwd' op grad has shape [], expected [32]}}
  %d = hone.cross_entropy_bwd none %g, %x, %t, %l ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  return
}

// -----

func.func @cross_entropy_bwd_c3(%g: tensor<f32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %l: tensor<32xf32>) {
  // expected-error@+1 {{'hone.cross_entropy_bwd' op label_smoothing is -1.000000e-01, expected 0 <= label_smoothing <= 1}}
  %d = hone.cross_entropy_bwd mean %g, %x, %t, %l ignore_index -100 label_smoothing -0.1
      : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  return
}

// -----

func.func @cross_entropy_bwd_c4(%g: tensor<f32>, %x: tensor<8x64xf32>, %t: tensor<8xi64>, %l: tensor<8xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y = hone.cross_entropy_bwd mean %g, %x, %t, %l ignore_index -100 label_smoothing 0.0 width 65 : (tensor<f32>, tensor<8x64xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}
