// RUN: hone-opt %s --split-input-file --dist-propagate --dist-partition --dist-verify | FileCheck %s

// A part draws what the whole draws there: its first element has number 24 i in the whole, of which it is a run.
dist.mesh @mesh [<"dp" = 2>]
// CHECK-LABEL: @rows(
// CHECK-SAME: %[[X:.+]]: tensor<4x6xf32>
func.func @rows(%x: tensor<8x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}, %key: tensor<3xi64>) -> tensor<8x6xf32> {
  // CHECK: %[[I:.+]] = dist.coordinate ["dp"] : tensor<i64>
  // CHECK: %[[S:.+]] = hone.constant dense<24> : tensor<i64>
  // CHECK: %[[O:.+]] = hone.mul %[[I]], %[[S]] : tensor<i64>
  // CHECK: hone.dropout %[[X]], %{{.+}} p 5.000000e-01 salt 3 origin %[[O]] of [8, 6] : tensor<4x6xf32>, tensor<3xi64>
  // CHECK-NOT: dist.
  %y = hone.dropout %x, %key p 0.5 salt 3 : tensor<8x6xf32>, tensor<3xi64>
  // CHECK: return
  return %y : tensor<8x6xf32>
}

// -----

// Divided twice: 48 i + 3 j.
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
// CHECK-LABEL: @rows_and_columns(
func.func @rows_and_columns(%x: tensor<16x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {"tp"}>}, %key: tensor<3xi64>)
    -> tensor<16x6xf32> {
  // CHECK-DAG: %[[J:.+]] = dist.coordinate ["tp"] : tensor<i64>
  // CHECK-DAG: %[[I:.+]] = dist.coordinate ["dp"] : tensor<i64>
  // CHECK-DAG: hone.constant dense<3> : tensor<i64>
  // CHECK-DAG: hone.constant dense<48> : tensor<i64>
  // CHECK: %[[O:.+]] = hone.add
  // CHECK: hone.dropout {{.+}} origin %[[O]] of [16, 6] : tensor<8x3xf32>
  // CHECK-NOT: dist.
  %y = hone.dropout %x, %key p 0.5 salt 3 : tensor<16x6xf32>, tensor<3xi64>
  // CHECK: return
  return %y : tensor<16x6xf32>
}

// -----

// The scores of attention draw, [batch, head, query, key]: a part of the heads begins at 2 * 8 * 8 i.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @heads(
func.func @heads(%q: tensor<2x8x4x16xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"}, {}>}, %key: tensor<3xi64>)
    -> tensor<2x8x4x16xf32> {
  // CHECK: hone.constant dense<128> : tensor<i64>
  // CHECK: hone.attention {{.+}} rng %{{.+}}, %{{.+}} causal scale 2.500000e-01 dropout 1.000000e-01 salt 5 of [2, 4, 8, 8]
  // CHECK-SAME: tensor<2x8x2x16xf32>
  // CHECK-NOT: dist.
  %o, %lse = hone.attention %q, %q, %q rng %key causal scale 0.25 dropout 0.1 salt 5
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<3xi64>)
      -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  // CHECK: return
  return %o : tensor<2x8x4x16xf32>
}

// -----

// An update that rounds at random; one that does not has no origin.
dist.mesh @mesh [<"fs" = 2>]
// CHECK-LABEL: @update(
func.func @update(%p: tensor<8xbf16> {dist.sharding = #dist.sharding<{"fs"}>},
                  %g: tensor<8xf32> {dist.sharding = #dist.sharding<{"fs"}>},
                  %x: tensor<f32>, %key: tensor<3xi64>) -> (tensor<8xbf16>, tensor<8xbf16>) {
  // CHECK: hone.lion {{.+}} rng %{{.+}} salt 4 origin %{{.+}} of [8] {{.+}} : (tensor<4xbf16>
  // CHECK: hone.lion {{.+}} grad_scale %{{.+}} {beta1 {{.+}} : (tensor<4xbf16>
  %p1, %m1 = hone.lion %p, %g, %p lr %x weight_decay %x grad_scale %x rng %key salt 4 {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>)
      -> (tensor<8xbf16>, tensor<8xbf16>)
  %p2, %m2 = hone.lion %p1, %g, %m1 lr %x weight_decay %x grad_scale %x {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<8xbf16>, tensor<8xbf16>)
  return %p2, %m2 : tensor<8xbf16>, tensor<8xbf16>
}

// -----

// A part of several runs: each is drawn from a number of its own.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @cut(
func.func @cut(%x: tensor<8x12xf32> {dist.sharding = #dist.sharding<{}, {"tp" cuts [4]}>}, %key: tensor<3xi64>)
    -> (tensor<8x12xf32> {dist.sharding = #dist.sharding<{}, {"tp" cuts [4]}>}) {
  // CHECK-NOT: dist.all_gather
  // CHECK: %[[A:.+]] = hone.dropout {{.+}} origin %{{.+}} of [8, 12] : tensor<8x2xf32>
  // CHECK: %[[B:.+]] = hone.dropout {{.+}} origin %{{.+}} of [8, 12] : tensor<8x4xf32>
  // CHECK: hone.concat %[[A]], %[[B]] dim 1
  %y = hone.dropout %x, %key p 0.5 salt 3 : tensor<8x12xf32>, tensor<3xi64>
  return %y : tensor<8x12xf32>
}

// -----

// A run of 5 is no part of 12: the tensor is moved.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @uneven(
func.func @uneven(%x: tensor<8x12xf32> {dist.sharding = #dist.sharding<{}, {"tp" cuts [2]}>}, %key: tensor<3xi64>)
    -> (tensor<8x12xf32> {dist.sharding = #dist.sharding<{}, {"tp" cuts [2]}>}) {
  // CHECK: dist.all_gather
  %y = hone.dropout %x, %key p 0.5 salt 3 : tensor<8x12xf32>, tensor<3xi64>
  return %y : tensor<8x12xf32>
}
