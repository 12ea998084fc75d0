// RUN: hone-opt %s --hone-decompose-attention --split-input-file | FileCheck %s
// RUN: hone-opt %s --hone-decompose-attention --split-input-file | FileCheck %s --check-prefix=LEFT

// LEFT-NOT: hone.attention

// Heads first, two products, a softmax between them, and its log-sum-exp.
// CHECK-LABEL: @plain
// CHECK-SAME: (%[[Q:.+]]: tensor<2x16x4x8xf32>, %[[K:.+]]: tensor<2x12x4x8xf32>, %[[V:.+]]: tensor<2x12x4x6xf32>)
func.func @plain(%q: tensor<2x16x4x8xf32>, %k: tensor<2x12x4x8xf32>, %v: tensor<2x12x4x6xf32>)
    -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>) {
  // CHECK: %[[QH:.+]] = hone.transpose %[[Q]] [0, 2, 1, 3]
  // CHECK: %[[KH:.+]] = hone.transpose %[[K]] [0, 2, 1, 3]
  // CHECK: %[[VH:.+]] = hone.transpose %[[V]] [0, 2, 1, 3]
  // CHECK: %[[S:.+]] = hone.dot_general %[[QH]], %[[KH]] batch [0, 1] x [0, 1] contract [3] x [3] : tensor<2x4x16x8xf32>, tensor<2x4x12x8xf32> -> tensor<2x4x16x12xf32>
  // CHECK: %[[TOP:.+]] = hone.reduce max %[[S]] dims [3]
  // CHECK: %[[TOPS:.+]] = hone.broadcast %[[TOP]] dims [0, 1, 2]
  // CHECK: %[[C:.+]] = hone.sub %[[S]], %[[TOPS]]
  // CHECK: %[[E:.+]] = hone.exp %[[C]]
  // CHECK: %[[SUM:.+]] = hone.reduce sum %[[E]] dims [3]
  // CHECK: %[[SUMS:.+]] = hone.broadcast %[[SUM]] dims [0, 1, 2]
  // CHECK: %[[P:.+]] = hone.div %[[E]], %[[SUMS]]
  // CHECK: %[[INF:.+]] = hone.constant dense<0x7F800000> : tensor<2x4x16xf32>
  // CHECK: %[[ABS:.+]] = hone.abs %[[TOP]]
  // CHECK: %[[HIDDEN:.+]] = hone.cmp eq, %[[ABS]], %[[INF]]
  // CHECK: %[[LOG:.+]] = hone.log %[[SUM]]
  // CHECK: %[[LSUM:.+]] = hone.add %[[TOP]], %[[LOG]]
  // CHECK: %[[LSE:.+]] = hone.select %[[HIDDEN]], %[[INF]], %[[LSUM]]
  // CHECK: %[[OH:.+]] = hone.dot_general %[[P]], %[[VH]] batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x12xf32>, tensor<2x4x12x6xf32> -> tensor<2x4x16x6xf32>
  // CHECK: %[[O:.+]] = hone.transpose %[[OH]] [0, 2, 1, 3]
  %o, %l = hone.attention %q, %k, %v scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x12x4x8xf32>, tensor<2x12x4x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  // CHECK: return %[[O]], %[[LSE]]
  return %o, %l : tensor<2x16x4x6xf32>, tensor<2x4x16xf32>
}

// -----

// The three heads that share a key head are rows of one product: keys and values are not repeated.
// CHECK-LABEL: @grouped_heads
func.func @grouped_heads(%q: tensor<2x16x6x8xf32>, %k: tensor<2x12x2x8xf32>, %v: tensor<2x12x2x8xf32>)
    -> tensor<2x16x6x8xf32> {
  // CHECK: hone.dot_general {{.+}} : tensor<2x2x48x8xf32>, tensor<2x2x12x8xf32> -> tensor<2x2x48x12xf32>
  // CHECK: hone.reshape {{.+}} : tensor<2x2x48x12xf32> -> tensor<2x6x16x12xf32>
  // CHECK: hone.reduce max
  // CHECK: hone.dot_general {{.+}} : tensor<2x2x48x12xf32>, tensor<2x2x12x8xf32> -> tensor<2x2x48x8xf32>
  // CHECK: hone.reshape {{.+}} : tensor<2x2x48x8xf32> -> tensor<2x6x16x8xf32>
  // CHECK-NOT: hone.broadcast {{.+}}x8xf32>
  %o, %l = hone.attention %q, %k, %v scale 1.0
      : (tensor<2x16x6x8xf32>, tensor<2x12x2x8xf32>, tensor<2x12x2x8xf32>) -> (tensor<2x16x6x8xf32>, tensor<2x6x16xf32>)
  return %o : tensor<2x16x6x8xf32>
}

// -----

// Scale, then mask, then causal: a key after the query is hidden whatever the mask adds.
// CHECK-LABEL: @masked
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<1x1x16x16xf32>)
func.func @masked(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x4x8xf32>, %v: tensor<2x16x4x8xf32>,
                  %m: tensor<1x1x16x16xf32>) -> tensor<2x16x4x8xf32> {
  // CHECK: %[[DOT:.+]] = hone.dot_general
  // CHECK: %[[EXACT:.+]] = hone.constant dense<3.500000e-01> : tensor<2x4x16x16xf64>
  // CHECK: %[[FACTOR:.+]] = hone.cast %[[EXACT]]
  // CHECK: %[[SCALED:.+]] = hone.mul %[[DOT]], %[[FACTOR]]
  // CHECK: %[[FLAT:.+]] = hone.reshape %[[M]] : tensor<1x1x16x16xf32> -> tensor<16x16xf32>
  // CHECK: %[[ALL:.+]] = hone.broadcast %[[FLAT]] dims [2, 3]
  // CHECK: %[[SUM:.+]] = hone.add %[[SCALED]], %[[ALL]]
  // CHECK: %[[AT:.+]] = hone.iota dim 2 : tensor<2x4x16x16xi32>
  // CHECK: %[[KEYS:.+]] = hone.iota dim 3 : tensor<2x4x16x16xi32>
  // CHECK: %[[SEEN:.+]] = hone.cmp le, %[[KEYS]], %[[AT]]
  // CHECK: %[[LOWEST:.+]] = hone.constant dense<0xFF800000>
  // CHECK: %[[S:.+]] = hone.select %[[SEEN]], %[[SUM]], %[[LOWEST]]
  // CHECK: hone.reduce max %[[S]]
  %o, %l = hone.attention %q, %k, %v mask %m causal scale 0.35
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<1x1x16x16xf32>)
      -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return %o : tensor<2x16x4x8xf32>
}

// -----

// A mask per batch is repeated for every head, one of all batches and heads is added as it is.
// CHECK-LABEL: @mask_per_batch
func.func @mask_per_batch(%q: tensor<2x16x4x8xf32>, %m: tensor<2x1x16x16xf32>, %n: tensor<2x4x16x16xf32>)
    -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) {
  // CHECK: hone.broadcast %{{.+}} dims [0, 2, 3] : tensor<2x16x16xf32> -> tensor<2x4x16x16xf32>
  %a, %al = hone.attention %q, %q, %q mask %m scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x1x16x16xf32>)
      -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  // CHECK: hone.dot_general
  // CHECK: %[[S:.+]] = hone.dot_general
  // CHECK: hone.add %[[S]], %arg2
  %b, %bl = hone.attention %q, %q, %q mask %n scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x4x16x16xf32>)
      -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return %a, %b : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>
}

// -----

// Products read bf16 and add up in f32; weights are rounded once, after dropout, for the product that reads them.
// CHECK-LABEL: @bf16_dropout
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<3xi64>)
func.func @bf16_dropout(%q: tensor<2x16x4x8xbf16>, %k: tensor<2x16x2x8xbf16>, %v: tensor<2x16x2x8xbf16>,
                        %key: tensor<3xi64>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>) {
  // CHECK: hone.dot_general {{.+}} : tensor<2x2x32x8xbf16>, tensor<2x2x16x8xbf16> -> tensor<2x2x32x16xf32>
  // CHECK: %[[P:.+]] = hone.div {{.+}} : tensor<2x4x16x16xf32>
  // CHECK: %[[D:.+]] = hone.dropout %[[P]], %[[KEY]] p 1.000000e-01 salt 7
  // CHECK: %[[LOW:.+]] = hone.cast %[[D]] : tensor<2x4x16x16xf32> -> tensor<2x4x16x16xbf16>
  // CHECK: %[[ROWS:.+]] = hone.reshape %[[LOW]]
  // CHECK: hone.dot_general %[[ROWS]], {{.+}} : tensor<2x2x32x16xbf16>, tensor<2x2x16x8xbf16> -> tensor<2x2x32x8xbf16>
  %o, %l = hone.attention %q, %k, %v rng %key scale 1.0 dropout 0.1 salt 7
      : (tensor<2x16x4x8xbf16>, tensor<2x16x2x8xbf16>, tensor<2x16x2x8xbf16>, tensor<3xi64>)
      -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
  return %o, %l : tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>
}
