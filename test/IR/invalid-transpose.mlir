// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @transpose_c1(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.transpose' op permutation is [1, 1], expected distinct dimensions below 2}}
  %y = hone.transpose %x [1, 1] : tensor<2x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @transpose_c1_length(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.transpose' op permutation has 1 entries, expected 2}}
  %y = hone.transpose %x [0] : tensor<2x16xf32> -> tensor<2xf32>
  return
}

// -----

func.func @transpose_c1_range(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.transpose' op permutation is [0, 2], expected distinct dimensions below 2}}
  %y = hone.transpose %x [0, 2] : tensor<2x16xf32> -> tensor<2x16xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.transpose' op result has shape [2, 16], expected [16, 2]}}
  %y = hone.transpose %x [1, 0] : tensor<2x16xf32> -> tensor<2x16xf32>
  return
}

// -----

func.func @transpose_c2_element_type(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.transpose' op result has element type 'bf16', expected 'f32'}}
  %y = hone.transpose %x [1, 0] : tensor<2x16xf32> -> tensor<16x2xbf16>
  return
}
