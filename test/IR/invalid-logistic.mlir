// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @logistic_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.logistic' op all non-scalar operands/results must have the same shape and base type}}
  %r = "hone.logistic"(%x) : (tensor<8x64xf32>) -> tensor<8x32xf32>
  return
}
