// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @cast_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.cast' op all non-scalar operands/results must have the same shape and base type}}
  %y = hone.cast %x : tensor<8x64xf32> -> tensor<64x8xbf16>
  return
}
