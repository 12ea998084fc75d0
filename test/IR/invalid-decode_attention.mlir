// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @decode_attention_c1(%q: tensor<2x1x4x64xf32>, %k: tensor<2x16x2x32xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{'hone.decode_attention' op key has shape [2, 16, 2, 32], expected [2, 16, 2, 64]}}
  %o = hone.decode_attention %q, %k, %k at %n scale 1.0
      : (tensor<2x1x4x64xf32>, tensor<2x16x2x32xf32>, tensor<2x16x2x32xf32>, tensor<i64>) -> tensor<2x1x4x64xf32>
  return
}

// -----

func.func @decode_attention_c2(%q: tensor<2x1x4x64xf32>, %k: tensor<2x16x3x64xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{'hone.decode_attention' op has 4 query heads and 3 key heads, expected a multiple}}
  %o = hone.decode_attention %q, %k, %k at %n scale 1.0
      : (tensor<2x1x4x64xf32>, tensor<2x16x3x64xf32>, tensor<2x16x3x64xf32>, tensor<i64>) -> tensor<2x1x4x64xf32>
  return
}

// -----

func.func @decode_attention_c3(%q: tensor<2x1x4x64xf32>, %k: tensor<2x16x4x64xf32>, %n: tensor<i64>,
                               %m: tensor<1x1x16x16xf32>) {
  // expected-error@+1 {{'hone.decode_attention' op mask has shape [1, 1, 16, 16], expected [2 or 1, 4 or 1, 1, 16]}}
  %o = hone.decode_attention %q, %k, %k at %n mask %m scale 1.0
      : (tensor<2x1x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<i64>, tensor<1x1x16x16xf32>)
      -> tensor<2x1x4x64xf32>
  return
}
