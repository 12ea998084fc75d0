// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @dot_general_c1(%x: tensor<2x8x64xf32>, %w: tensor<2x64x4xf32>) {
  // expected-error@+1 {{'hone.dot_general' op lhs batch and contracting list is [0, 0], expected distinct dimensions below 3}}
  %y = hone.dot_general %x, %w batch [0] x [0] contract [0] x [0] : tensor<2x8x64xf32>, tensor<2x64x4xf32>
      -> tensor<2x8x64x64x4xf32>
  return
}

// -----

func.func @dot_general_c1_rhs(%x: tensor<8x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error@+1 {{'hone.dot_general' op rhs batch and contracting list is [2], expected distinct dimensions below 2}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [2] : tensor<8x64xf32>, tensor<64x4xf32>
      -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c2(%x: tensor<8x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error@+1 {{'hone.dot_general' op pairs 0 with 0 batch and 1 with 0 contracting dimensions, expected equal numbers}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [] : tensor<8x64xf32>, tensor<64x4xf32>
      -> tensor<8x64x4xf32>
  return
}

// -----

func.func @dot_general_c2_size(%x: tensor<8x64xf32>, %w: tensor<32x4xf32>) {
  // expected-error@+1 {{'hone.dot_general' op dimension 1 of lhs has size 64, expected 32, the size of dimension 0 of rhs}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<32x4xf32>
      -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c3(%x: tensor<8x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error@+1 {{'hone.dot_general' op result has shape [4, 8], expected [8, 4]}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x4xf32>
      -> tensor<4x8xf32>
  return
}

// -----

func.func @dot_general_c4(%x: tensor<8x64xf32>, %w: tensor<64x4xbf16>) {
  // expected-error@+1 {{'hone.dot_general' op rhs has element type 'bf16', expected 'f32'}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x4xbf16>
      -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c4_codes(%x: tensor<8x64xf8E5M2>, %w: tensor<4x64xf8E5M2>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dot_general' op multiplies f8E5M2 by f8E5M2, expected at most one such operand}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1]
      : tensor<8x64xf8E5M2>, tensor<4x64xf8E5M2> scales tensor<f32>, tensor<f32> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c4_one_is_code(%x: tensor<8x64xf8E5M2>, %w: tensor<4x64xbf16>) {
  // expected-error@+1 {{'hone.dot_general' op rhs has element type 'bf16', expected 'f8E5M2'}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [1] : tensor<8x64xf8E5M2>, tensor<4x64xbf16>
      -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c5_rank(%x: tensor<2x8x64xf8E4M3FN>, %w: tensor<4x64xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dot_general' op codes have rank 3, expected 2}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [2] x [1]
      : tensor<2x8x64xf8E4M3FN>, tensor<4x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @dot_general_c5_dim(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x4xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dot_general' op sums codes over another dimension, expected contract [1] x [1]}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [0]
      : tensor<8x64xf8E4M3FN>, tensor<64x4xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c6_no_scales(%x: tensor<8x64xf8E4M3FN>, %w: tensor<4x64xf8E4M3FN>) {
  // expected-error@+1 {{'hone.dot_general' op has 0 tensors of scales, expected 2 with tiles, as operands are codes}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf8E4M3FN>, tensor<4x64xf8E4M3FN> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c6_no_codes(%x: tensor<8x64xbf16>, %w: tensor<4x64xbf16>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dot_general' op has scales, expected none: operands are no codes}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<4x64xbf16> scales tensor<f32>, tensor<f32> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c6_tile(%x: tensor<8x64xf8E4M3FN>, %w: tensor<4x64xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dot_general' op tile is [128, 1], expected [0, 0], [1, 128], [128, 128] or [1, 32]}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [128, 1] batch [] x [] contract [1] x [1]
      : tensor<8x64xf8E4M3FN>, tensor<4x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c6_blocks(%x: tensor<8x64xf8E4M3FN>, %w: tensor<4x64xf8E4M3FN>, %s: tensor<1x4xf32>) {
  // expected-error@+1 {{'hone.dot_general' op multiplies tiles [128, 128] by [128, 128], expected equal ones, or [128, 128] with [1, 128]}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [128, 128] x [128, 128] batch [] x [] contract [1] x [1]
      : tensor<8x64xf8E4M3FN>, tensor<4x64xf8E4M3FN> scales tensor<1x4xf32>, tensor<1x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c7(%x: tensor<8x64xf8E4M3FN>, %w: tensor<4x64xf8E4M3FN>, %s: tensor<1x8xf32>,
                          %t: tensor<1x1xf32>) {
  // expected-error@+1 {{'hone.dot_general' op rhs scales has type 'tensor<1x1xf32>', expected 'tensor<1x4xf32>'}}
  %y = hone.dot_general %x, %w scales %s, %t tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
      : tensor<8x64xf8E4M3FN>, tensor<4x64xf8E4M3FN> scales tensor<1x8xf32>, tensor<1x1xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c8_fast(%x: tensor<8x64xbf16>, %w: tensor<4x64xbf16>) {
  // expected-error@+1 {{'hone.dot_general' op is fast, expected operands that are codes}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [1] fast : tensor<8x64xbf16>, tensor<4x64xbf16>
      -> tensor<8x4xf32>
  return
}

// -----

func.func @dot_general_c8_batch(%x: tensor<2x8x64xbf16>, %w: tensor<2x4x64xbf16>) {
  // expected-error@+1 {{'hone.dot_general' op is quantized and has 1 batch dimensions, expected none}}
  %y = hone.dot_general %x, %w batch [0] x [0] contract [2] x [2] quantized <mx, activation x weight>
      : tensor<2x8x64xbf16>, tensor<2x4x64xbf16> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @dot_general_c8_codes(%x: tensor<8x64xf8E4M3FN>, %w: tensor<4x64xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dot_general' op is quantized, expected operands that are no codes}}
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1]
      quantized <tensor, activation x weight>
      : tensor<8x64xf8E4M3FN>, tensor<4x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<8x4xf32>
  return
}
