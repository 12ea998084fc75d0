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
