// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @cumsum_c1(%x: tensor<8x64xi64>) {
  // expected-error@+1 {{'hone.cumsum' op requires the same type for all operands and results}}
  %y = "hone.cumsum"(%x) {dim = 1 : i64} : (tensor<8x64xi64>) -> tensor<8x64xi32>
  return
}

// -----

func.func @cumsum_c2(%x: tensor<8x64xi64>) {
  // expected-error@+1 {{'hone.cumsum' op dim is 2, expected a dimension of a tensor of rank 2}}
  %y = hone.cumsum %x dim 2 : tensor<8x64xi64>
  return
}
