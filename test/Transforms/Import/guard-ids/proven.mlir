// RUN: hone-opt %s --split-input-file --hone-bound-ids --hone-guard-ids | FileCheck %s --implicit-check-not=id_check

// Ids that analysis proves to be inside get no guard: through shapes, arithmetic, comparisons, running sums.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: hone.fqn = "t", hone.kind = "input", hone.vocab = 61 : i64
// CHECK: hone.embedding
func.func @forward(
    %words: tensor<61x4xf32> {hone.kind = "param", hone.fqn = "words"},
    %places: tensor<10x4xf32> {hone.kind = "param", hone.fqn = "places"},
    %types: tensor<2x4xf32> {hone.kind = "param", hone.fqn = "types"},
    %flag: tensor<2x8xi1> {hone.kind = "input", hone.fqn = "flag"},
    %t: tensor<2x8xi64> {hone.kind = "input", hone.fqn = "t"}) -> tensor<2x8x4xf32> {
  // Positions as RoBERTa counts them: cumsum(mask) * mask + 1.
  %pad = hone.constant dense<1> : tensor<2x8xi64>
  %mask = hone.cmp ne, %t, %pad : tensor<2x8xi64> -> tensor<2x8xi1>
  %number = hone.cast %mask : tensor<2x8xi1> -> tensor<2x8xi32>
  %count = hone.cumsum %number dim 1 : tensor<2x8xi32>
  %masked = hone.mul %count, %number : tensor<2x8xi32>
  %wide = hone.cast %masked : tensor<2x8xi32> -> tensor<2x8xi64>
  %place = hone.add %wide, %pad : tensor<2x8xi64>
  %segment = hone.cast %flag : tensor<2x8xi1> -> tensor<2x8xi64>
  %type_scores = hone.constant dense<0.0> : tensor<2x8x2xf32>
  %most = hone.argmax %type_scores dim 2 : tensor<2x8x2xf32> -> tensor<2x8xi64>
  %a = hone.embedding %words, %t : tensor<61x4xf32>, tensor<2x8xi64> -> tensor<2x8x4xf32>
  %b = hone.embedding %places, %place : tensor<10x4xf32>, tensor<2x8xi64> -> tensor<2x8x4xf32>
  %c = hone.embedding %types, %segment : tensor<2x4xf32>, tensor<2x8xi64> -> tensor<2x8x4xf32>
  %d = hone.embedding %types, %most : tensor<2x4xf32>, tensor<2x8xi64> -> tensor<2x8x4xf32>
  %ab = hone.add %a, %b : tensor<2x8x4xf32>
  %cd = hone.add %c, %d : tensor<2x8x4xf32>
  %y = hone.add %ab, %cd : tensor<2x8x4xf32>
  return %y : tensor<2x8x4xf32>
}

// -----

// Tokens of sorted slots: a division that rounds down, with its correction for signs.
// CHECK-LABEL: func.func @forward(
// CHECK: hone.embedding
func.func @forward(
    %tokens: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "tokens"},
    %experts: tensor<16xi64> {hone.kind = "input", hone.fqn = "experts"}) -> tensor<16x4xf32> {
  %zero = hone.constant dense<0> : tensor<16xi64>
  %two = hone.constant dense<2> : tensor<16xi64>
  %slot = hone.argsort %experts dim 0 : tensor<16xi64> -> tensor<16xi64>
  %quotient = hone.div %slot, %two : tensor<16xi64>
  %product = hone.mul %quotient, %two : tensor<16xi64>
  %rest = hone.sub %slot, %product : tensor<16xi64>
  %is_below = hone.cmp lt, %rest, %zero : tensor<16xi64> -> tensor<16xi1>
  %correction = hone.cast %is_below : tensor<16xi1> -> tensor<16xi64>
  %token = hone.sub %quotient, %correction : tensor<16xi64>
  %rows = hone.embedding %tokens, %token : tensor<8x4xf32>, tensor<16xi64> -> tensor<16x4xf32>
  return %rows : tensor<16x4xf32>
}
