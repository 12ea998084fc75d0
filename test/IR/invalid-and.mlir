// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @and_c1(%x: tensor<8x64xi64>, %y: tensor<8x64xi32>) {
  // expected-error@+1 {{'hone.and' op requires the same type for all operands and results}}
  %r = "hone.and"(%x, %y) : (tensor<8x64xi64>, tensor<8x64xi32>) -> tensor<8x64xi64>
  return
}
