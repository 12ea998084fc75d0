// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @argmax_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.argmax' op dim is 2, expected a dimension of a tensor of rank 2}}
  %i = hone.argmax %x dim 2 : tensor<8x64xf32> -> tensor<8xi64>
  return
}

// -----

func.func @argmax_c1_empty(%x: tensor<8x0xf32>) {
  // expected-error@+1 {{'hone.argmax' op dimension is empty, expected at least one element}}
  %i = hone.argmax %x dim 1 : tensor<8x0xf32> -> tensor<8xi64>
  return
}

// -----

func.func @argmax_c2(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.argmax' op result has shape [64], expected [8]}}
  %i = hone.argmax %x dim 1 : tensor<8x64xf32> -> tensor<64xi64>
  return
}
