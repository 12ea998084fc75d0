// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @rope_c1(%x: tensor<2x16x4x63xf32>, %c: tensor<16x31xf32>) {
  // expected-error@+1 {{'hone.rope' op input has shape [2, 16, 4, 63], expected [batch, position, head, even width]}}
  %y = hone.rope half %x, %c, %c : tensor<2x16x4x63xf32>, tensor<16x31xf32>
  return
}

// -----

func.func @rope_c1_rank(%x: tensor<16x64xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{'hone.rope' op input has shape [16, 64], expected [batch, position, head, even width]}}
  %y = hone.rope half %x, %c, %c : tensor<16x64xf32>, tensor<16x32xf32>
  return
}

// -----

func.func @rope_c1_result(%x: tensor<2x16x4x64xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{'hone.rope' op failed to verify that all of {input, result} have same type}}
  %y = "hone.rope"(%x, %c, %c) {style = #hone<rope half>}
      : (tensor<2x16x4x64xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x4x64xbf16>
  return
}

// -----

func.func @rope_c2(%x: tensor<2x16x4x64xf32>, %c: tensor<16x64xf32>) {
  // expected-error@+1 {{'hone.rope' op cos has shape [16, 64], expected [16, 32]}}
  %y = hone.rope half %x, %c, %c : tensor<2x16x4x64xf32>, tensor<16x64xf32>
  return
}

// -----

func.func @rope_c2_sin(%x: tensor<2x16x4x64xf32>, %c: tensor<16x32xf32>, %s: tensor<16x64xf32>) {
  // expected-error@+1 {{'hone.rope' op failed to verify that all of {cos, sin} have same type}}
  %y = "hone.rope"(%x, %c, %s) {style = #hone<rope half>}
      : (tensor<2x16x4x64xf32>, tensor<16x32xf32>, tensor<16x64xf32>) -> tensor<2x16x4x64xf32>
  return
}
