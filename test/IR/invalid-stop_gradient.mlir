// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @stop_gradient_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.stop_gradient' op requires the same type for all operands and results}}
  %y = "hone.stop_gradient"(%x) : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return
}
