// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @softmax_bwd_c1(%x: tensor<f32>) {
  // expected-error@+1 {{'hone.softmax_bwd' op output has rank 0, expected at least 1}}
  %d = hone.softmax_bwd %x, %x : tensor<f32>
  return
}

// -----

func.func @softmax_bwd_c1_type(%g: tensor<8x64xbf16>, %y: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.softmax_bwd' op requires the same type for all operands and results}}
  %d = "hone.softmax_bwd"(%g, %y) : (tensor<8x64xbf16>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @softmax_bwd_c2(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{width is 65, expected 0 <= width <= 64}}
  %y = hone.softmax_bwd %x, %x width 65 : tensor<8x64xf32>
  return
}
