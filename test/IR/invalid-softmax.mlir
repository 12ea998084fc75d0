// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @softmax_c1(%x: tensor<f32>) {
  // expected-error@+1 {{'hone.softmax' op input has rank 0, expected at least 1}}
  %p = hone.softmax %x : tensor<f32>
  return
}

// -----

func.func @softmax_c1_result(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.softmax' op requires the same type for all operands and results}}
  %p = "hone.softmax"(%x) : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return
}

// -----

func.func @softmax_c2(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y = hone.softmax %x width 65 : tensor<8x64xf32>
  return
}
