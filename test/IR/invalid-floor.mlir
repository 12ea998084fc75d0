// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @floor_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.floor' op requires the same type for all operands and results}}
  %r = "hone.floor"(%x) : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return
}
