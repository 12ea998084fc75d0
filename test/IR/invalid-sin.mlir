// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @sin_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.sin' op all non-scalar operands/results must have the same shape and base type}}
  %r = "hone.sin"(%x) : (tensor<8x64xf32>) -> tensor<8x32xf32>
  return
}
