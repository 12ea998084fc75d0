// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @merge_attention_c1(%o: tensor<16x4x64xf32>, %l: tensor<4x16xf32>) {
  // expected-error@+1 {{'hone.merge_attention' op result has rank 3, expected 4}}
  %m, %n = hone.merge_attention %o, %l with %o, %l : tensor<16x4x64xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @merge_attention_c1_lse(%o: tensor<2x16x4x64xf32>, %l: tensor<2x16x4xf32>) {
  // expected-error@+1 {{'hone.merge_attention' op lse has shape [2, 16, 4], expected [2, 4, 16]}}
  %m, %n = hone.merge_attention %o, %l with %o, %l : tensor<2x16x4x64xf32>, tensor<2x16x4xf32>
  return
}

// -----

func.func @merge_attention_c1_element(%o: tensor<2x16x4x64xf32>, %l: tensor<2x4x16xf64>) {
  // expected-error@+1 {{'hone.merge_attention' op lse has element type 'f64', expected 'f32'}}
  %m, %n = hone.merge_attention %o, %l with %o, %l : tensor<2x16x4x64xf32>, tensor<2x4x16xf64>
  return
}

// -----

func.func @merge_attention_c1_narrow(%o: tensor<2x16x4x64xbf16>, %l: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'hone.merge_attention' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float values, but got 'tensor<2x16x4x64xbf16>'}}
  %m, %n = hone.merge_attention %o, %l with %o, %l : tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>
  return
}

// -----

func.func @merge_attention_c2(%o: tensor<2x16x4x64xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'hone.merge_attention' op failed to verify that all of {result, other, merged} have same type}}
  %m, %n = "hone.merge_attention"(%o, %l, %o, %l)
      : (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>, tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>)
  return
}
