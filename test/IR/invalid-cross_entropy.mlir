// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @cross_entropy_c1(%x: tensor<32x256xf32>, %t: tensor<16xi64>) {
  // expected-error@+1 {{'hone.cross_entropy' op targets has shape [16], expected [32]}}
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 : tensor<32x256xf32>,
      tensor<16xi64> -> tensor<f32>, tensor<32xf32>
  return
}

// -----

func.func @cross_entropy_c1_rank(%x: tensor<f32>, %t: tensor<i64>) {
  // expected-error@+1 {{'hone.cross_entropy' op logits has rank 0, expected at least 1}}
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 : tensor<f32>, tensor<i64>
      -> tensor<f32>, tensor<f32>
  return
}

// -----

func.func @cross_entropy_c2(%x: tensor<32x256xf32>, %t: tensor<32xi64>) {
  // expected-error@+1 {{'hone.cross_entropy' op lse has shape [32, 1], expected [32]}}
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 : tensor<32x256xf32>,
      tensor<32xi64> -> tensor<f32>, tensor<32x1xf32>
  return
}

// -----

func.func @cross_entropy_c3(%x: tensor<32x256xf32>, %t: tensor<32xi64>) {
  // expected-error@+1 {{'hone.cross_entropy' op loss has shape [], expected [32]}}
  %l, %s = hone.cross_entropy none %x, %t ignore_index -100 label_smoothing 0.0 : tensor<32x256xf32>,
      tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  return
}

// -----

func.func @cross_entropy_c3_mean(%x: tensor<32x256xf32>, %t: tensor<32xi64>) {
  // expected-error@+1 {{'hone.cross_entropy' op loss has shape [32], expected []}}
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 : tensor<32x256xf32>,
      tensor<32xi64> -> tensor<32xf32>, tensor<32xf32>
  return
}

// -----

func.func @cross_entropy_c4(%x: tensor<32x256xf32>, %t: tensor<32xi64>) {
  // expected-error@+1 {{'hone.cross_entropy' op label_smoothing is 1.500000e+00, expected 0 <= label_smoothing <= 1}}
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 1.5 : tensor<32x256xf32>,
      tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  return
}

// -----

func.func @cross_entropy_c5(%x: tensor<8x64xf32>, %t: tensor<8xi64>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y, %l = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 width 65 : tensor<8x64xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  return
}
