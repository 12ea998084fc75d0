// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @argsort_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.argsort' op dim is 2, expected a dimension of a tensor of rank 2}}
  %i = hone.argsort %x dim 2 : tensor<8x64xf32> -> tensor<8x64xi64>
  return
}

// -----

func.func @argsort_c2(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.argsort' op result has shape [8, 63], expected [8, 64]}}
  %i = hone.argsort %x dim 1 : tensor<8x64xf32> -> tensor<8x63xi64>
  return
}
