// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @log1p_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.log1p' op requires the same type for all operands and results}}
  %r = "hone.log1p"(%x) : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return
}
