// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @iota_c1() {
  // expected-error@+1 {{'hone.iota' op dim is 2, expected a dimension of a tensor of rank 2}}
  %i = hone.iota dim 2 : tensor<8x64xi64>
  return
}

// -----

func.func @iota_c1_negative() {
  // expected-error@+1 {{'hone.iota' op dim is -1, expected a dimension of a tensor of rank 2}}
  %i = hone.iota dim -1 : tensor<8x64xi64>
  return
}
