// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @sub_c1(%x: tensor<8x64xf32>, %y: tensor<8x64xbf16>) {
  // expected-error@+1 {{'hone.sub' op requires the same type for all operands and results}}
  %r = "hone.sub"(%x, %y) : (tensor<8x64xf32>, tensor<8x64xbf16>) -> tensor<8x64xf32>
  return
}
