// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @or_c1(%x: tensor<8x64xi64>, %y: tensor<64xi64>) {
  // expected-error@+1 {{'hone.or' op all non-scalar operands/results must have the same shape and base type}}
  %r = "hone.or"(%x, %y) : (tensor<8x64xi64>, tensor<64xi64>) -> tensor<8x64xi64>
  return
}
