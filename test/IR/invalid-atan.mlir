// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @atan_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.atan' op requires the same type for all operands and results}}
  %r = "hone.atan"(%x) : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return
}
