// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @max_c1(%x: tensor<8x64xf32>, %y: tensor<64xf32>) {
  // expected-error@+1 {{'hone.max' op all non-scalar operands/results must have the same shape and base type}}
  %r = "hone.max"(%x, %y) : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return
}
