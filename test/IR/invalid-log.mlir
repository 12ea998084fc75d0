// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @log_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.log' op requires the same type for all operands and results}}
  %r = "hone.log"(%x) : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return
}
