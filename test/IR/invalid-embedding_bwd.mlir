// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @embedding_bwd_c1(%g: tensor<16x64xf32>, %i: tensor<16xi64>) {
  // expected-error@+1 {{'hone.embedding_bwd' op result has rank 1, expected 2}}
  %t = hone.embedding_bwd %g, %i : tensor<16x64xf32>, tensor<16xi64> -> tensor<256xf32>
  return
}

// -----

func.func @embedding_bwd_c2(%g: tensor<16x64xf32>, %i: tensor<16xi64>) {
  // expected-error@+1 {{'hone.embedding_bwd' op grad has shape [16, 64], expected [16, 32]}}
  %t = hone.embedding_bwd %g, %i : tensor<16x64xf32>, tensor<16xi64> -> tensor<256x32xf32>
  return
}

// -----

func.func @embedding_bwd_c2_element_type(%g: tensor<16x64xbf16>, %i: tensor<16xi64>) {
  // expected-error@+1 {{'hone.embedding_bwd' op grad has element type 'bf16', expected 'f32'}}
  %t = hone.embedding_bwd %g, %i : tensor<16x64xbf16>, tensor<16xi64> -> tensor<256x64xf32>
  return
}
