// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @select_mode_c1(%x: tensor<8x64xf32>, %z: tensor<8x64xbf16>) {
  // expected-error@+1 {{'hone.select_mode' op failed to verify that all of {training, evaluation, result} have same type}}
  %y = "hone.select_mode"(%x, %z) : (tensor<8x64xf32>, tensor<8x64xbf16>) -> tensor<8x64xf32>
  return
}
