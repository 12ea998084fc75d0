// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @topk_c1(%x: tensor<32x8xf32>) {
  // expected-error@+1 {{'hone.topk' op dim is -1, expected a dimension of a tensor of rank 2}}
  %i = hone.topk %x dim -1 : tensor<32x8xf32> -> tensor<32x2xi64>
  return
}

// -----

func.func @topk_c2(%x: tensor<32x8xf32>) {
  // expected-error@+1 {{'hone.topk' op result has 9 indices per line, expected at most 8}}
  %i = hone.topk %x dim 1 : tensor<32x8xf32> -> tensor<32x9xi64>
  return
}

// -----

func.func @topk_c2_shape(%x: tensor<32x8xf32>) {
  // expected-error@+1 {{'hone.topk' op result has shape [31, 2], expected [32, 2]}}
  %i = hone.topk %x dim 1 : tensor<32x8xf32> -> tensor<31x2xi64>
  return
}

// -----

func.func @topk_c2_rank(%x: tensor<32x8xf32>) {
  // expected-error@+1 {{'hone.topk' op result has rank 1, expected 2}}
  %i = hone.topk %x dim 1 : tensor<32x8xf32> -> tensor<32xi64>
  return
}
