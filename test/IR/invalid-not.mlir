// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @not_c1(%x: tensor<8x64xi64>) {
  // expected-error@+1 {{'hone.not' op all non-scalar operands/results must have the same shape and base type}}
  %r = "hone.not"(%x) : (tensor<8x64xi64>) -> tensor<8x32xi64>
  return
}
