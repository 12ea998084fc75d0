// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @attention_c1(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x2x32xf32>) {
  // expected-error@+1 {{'hone.attention' op key has shape [2, 16, 2, 32], expected [2, 16, 2, 64]}}
  %o, %l = hone.attention %q, %k, %k scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x2x32xf32>, tensor<2x16x2x32xf32>)
      -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c1_rank(%q: tensor<16x4x64xf32>) {
  // expected-error@+1 {{'hone.attention' op query, key and value have ranks 3, 3 and 3, expected 4}}
  %o, %l = hone.attention %q, %q, %q scale 1.0
      : (tensor<16x4x64xf32>, tensor<16x4x64xf32>, tensor<16x4x64xf32>) -> (tensor<16x4x64xf32>, tensor<4x16xf32>)
  return
}

// -----

func.func @attention_c1_value(%q: tensor<2x16x4x64xf32>, %v: tensor<2x8x4x64xf32>) {
  // expected-error@+1 {{'hone.attention' op value has shape [2, 8, 4, 64], expected [2, 16, 4, 64]}}
  %o, %l = hone.attention %q, %q, %v scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x8x4x64xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c1_result(%q: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'hone.attention' op result has shape [2, 16, 256], expected [2, 16, 4, 64]}}
  %o, %l = hone.attention %q, %q, %q scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>)
      -> (tensor<2x16x256xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c1_element_type(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x4x64xbf16>) {
  // expected-error@+1 {{'hone.attention' op query, key, value and result have element types 'f32' and 'bf16', expected one}}
  %o, %l = hone.attention %q, %k, %k scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c2(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x3x64xf32>) {
  // expected-error@+1 {{'hone.attention' op has 4 query heads and 3 key heads, expected a multiple}}
  %o, %l = hone.attention %q, %k, %k scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x3x64xf32>, tensor<2x16x3x64xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c2_no_head(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x0x64xf32>) {
  // expected-error@+1 {{'hone.attention' op has 4 query heads and 0 key heads, expected a multiple}}
  %o, %l = hone.attention %q, %k, %k scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x0x64xf32>, tensor<2x16x0x64xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c3(%q: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'hone.attention' op lse has shape [2, 16, 4], expected [2, 4, 16]}}
  %o, %l = hone.attention %q, %q, %q scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x4xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<2x16x4x64xf32>, %m: tensor<16x16xf32>) {
  // expected-error@+1 {{'hone.attention' op mask has shape [16, 16], expected [2 or 1, 4 or 1, 16, 16]}}
  %o, %l = hone.attention %q, %q, %q mask %m scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<16x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c4_segments(%q: tensor<2x16x4x64xf32>, %ids: tensor<1x16xi32>) {
  // expected-error@+1 {{'hone.attention' op segments has shape [1, 16], expected [2, 16]}}
  %o, %l = hone.attention %q, %q, %q mask %ids scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<1x16xi32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c4_segments_of_keys(%q: tensor<2x16x4x64xf32>, %k: tensor<2x8x4x64xf32>, %ids: tensor<2x16xi32>) {
  // expected-error@+1 {{'hone.attention' op has segments of 16 queries and 8 keys, expected as many of both}}
  %o, %l = hone.attention %q, %k, %k mask %ids scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x16xi32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c4_order(%q: tensor<2x16x4x64xf32>, %m: tensor<1x1x16x16xf32>, %ids: tensor<2x16xi32>) {
  // expected-error@+1 {{'hone.attention' op mask has 2 operands, expected at most a float tensor, then an integer tensor, and then first positions}}
  %o, %l = hone.attention %q, %q, %q mask %ids, %m scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16xi32>, tensor<1x1x16x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c4_two_masks(%q: tensor<2x16x4x64xf32>, %m: tensor<1x1x16x16xf32>) {
  // expected-error@+1 {{'hone.attention' op mask has 2 operands, expected at most a float tensor, then an integer tensor, and then first positions}}
  %o, %l = hone.attention %q, %q, %q mask %m, %m scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<1x1x16x16xf32>,
         tensor<1x1x16x16xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c5(%q: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'hone.attention' op has dropout without rng, expected both or neither}}
  %o, %l = hone.attention %q, %q, %q scale 1.0 dropout 0.1
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c5_unused(%q: tensor<2x16x4x64xf32>, %r: tensor<3xi64>) {
  // expected-error@+1 {{'hone.attention' op has rng without dropout, expected both or neither}}
  %o, %l = hone.attention %q, %q, %q rng %r scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c5_shape(%q: tensor<2x16x4x64xf32>, %r: tensor<4xi64>) {
  // expected-error@+1 {{'hone.attention' op rng has shape [4], expected [3]}}
  %o, %l = hone.attention %q, %q, %q rng %r scale 1.0 dropout 0.1
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c6(%q: tensor<2x16x4x64xf32>, %r: tensor<3xi64>) {
  // expected-error@+1 {{'hone.attention' op dropout is 1.000000e+00, expected 0 <= dropout < 1}}
  %o, %l = hone.attention %q, %q, %q rng %r scale 1.0 dropout 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

// The scores are [batch, head, query, key].
func.func @attention_c7(%q: tensor<2x16x4x64xf32>, %r: tensor<3xi64>, %n: tensor<i64>) {
  // expected-error@+1 {{'hone.attention' op whole is [4, 16, 4, 16], expected multiples of [2, 4, 16, 16]}}
  %o, %l = hone.attention %q, %q, %q rng %r, %n scale 1.0 dropout 0.1 of [4, 16, 4, 16]
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>, tensor<i64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c7_two(%q: tensor<2x16x4x64xf32>, %r: tensor<3xi64>, %n: tensor<i64>) {
  // expected-error@+1 {{'hone.attention' op rng has 3 operands, expected a key and an origin}}
  %o, %l = hone.attention %q, %q, %q rng %r, %n, %n scale 1.0 dropout 0.1 of [2, 4, 16, 16]
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>, tensor<i64>, tensor<i64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c7_origin(%q: tensor<2x16x4x64xf32>, %r: tensor<3xi64>) {
  // expected-error@+1 {{'hone.attention' op origin has shape [3], expected []}}
  %o, %l = hone.attention %q, %q, %q rng %r, %r scale 1.0 dropout 0.1 of [2, 4, 16, 16]
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c7_runs(%q: tensor<2x16x4x64xf32>, %f: tensor<2xi64>, %r: tensor<3xi64>) {
  // expected-error@+1 {{'hone.attention' op has dropout of runs of queries without origin, expected both origin and whole}}
  %o, %l = hone.attention %q, %q, %q mask %f rng %r scale 1.0 dropout 0.1
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2xi64>, tensor<3xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c4_runs(%q: tensor<2x16x4x64xf32>, %f: tensor<3xi64>) {
  // expected-error@+1 {{'hone.attention' op has 16 queries in 3 runs, expected a multiple}}
  %o, %l = hone.attention %q, %q, %q mask %f causal scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_c1_narrowed(%q: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'hone.attention' op query, key, value and result have element types 'f32' and 'bf16', expected one}}
  %o, %l = hone.attention %q, %q, %q scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>)
      -> (tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
  return
}
