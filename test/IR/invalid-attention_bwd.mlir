// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @attention_bwd_c1(%g: tensor<2x16x4x32xf32>, %q: tensor<2x16x4x64xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'hone.attention_bwd' op grad has type 'tensor<2x16x4x32xf32>', expected 'tensor<2x16x4x64xf32>'}}
  %a, %b, %c = hone.attention_bwd %g, %q, %q, %q, %q, %l scale 1.0
      : (tensor<2x16x4x32xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>,
      tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>)
  return
}

// -----

func.func @attention_bwd_c1_lse(%q: tensor<2x16x4x64xf32>, %l: tensor<2x16x4xf32>) {
  // expected-error@+1 {{'hone.attention_bwd' op lse has shape [2, 16, 4], expected [2, 4, 16]}}
  %a, %b, %c = hone.attention_bwd %q, %q, %q, %q, %q, %l scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>,
      tensor<2x16x4x64xf32>, tensor<2x16x4xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>)
  return
}

// -----

func.func @attention_bwd_c2(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x2x64xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'hone.attention_bwd' op key_grad has type 'tensor<2x16x4x64xf32>', expected 'tensor<2x16x2x64xf32>'}}
  %a, %b, %c = hone.attention_bwd %q, %q, %k, %k, %q, %l scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>,
      tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>)
  return
}

// -----

func.func @attention_bwd_c1_sums(%q: tensor<2x16x4x64xbf16>, %g: tensor<2x16x4x64xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'hone.attention_bwd' op query, key, value and result have element types 'bf16' and 'f32', expected one}}
  %a, %b, %c = hone.attention_bwd %g, %q, %q, %q, %g, %l scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>,
      tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>)
  return
}

// -----

// All gradients are sums, or none is.
func.func @attention_bwd_c2_some_sums(%q: tensor<2x16x4x64xbf16>, %l: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'hone.attention_bwd' op key_grad has type 'tensor<2x16x4x64xbf16>', expected 'tensor<2x16x4x64xf32>'}}
  %a, %b, %c = hone.attention_bwd %q, %q, %q, %q, %q, %l scale 1.0
      : (tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>,
      tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>)
  return
}
