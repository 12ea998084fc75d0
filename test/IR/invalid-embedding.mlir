// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @embedding_c1(%t: tensor<256xf32>, %i: tensor<16xi64>) {
  // expected-error@+1 {{'hone.embedding' op table has rank 1, expected 2}}
  %x = hone.embedding %t, %i : tensor<256xf32>, tensor<16xi64> -> tensor<16xf32>
  return
}

// -----

func.func @embedding_c2(%t: tensor<256x64xf32>, %i: tensor<2x16xi64>) {
  // expected-error@+1 {{'hone.embedding' op result has shape [16, 2, 64], expected [2, 16, 64]}}
  %x = hone.embedding %t, %i : tensor<256x64xf32>, tensor<2x16xi64> -> tensor<16x2x64xf32>
  return
}

// -----

func.func @embedding_c2_element_type(%t: tensor<256x64xf32>, %i: tensor<16xi64>) {
  // expected-error@+1 {{'hone.embedding' op result has element type 'bf16', expected 'f32'}}
  %x = hone.embedding %t, %i : tensor<256x64xf32>, tensor<16xi64> -> tensor<16x64xbf16>
  return
}
