// RUN: hone-opt %s --hone-decompose-attention | FileCheck %s

// Where runs of queries begin: one number for each row of scores, so that a kernel of rows reads it.
// CHECK-LABEL: @runs
// CHECK: %[[BEGIN:.+]] = hone.cast %{{.+}} : tensor<2xi64> -> tensor<2xi32>
// CHECK: %[[OFFSET:.+]] = hone.iota dim 3 : tensor<2x4x2x8xi32>
// CHECK: %[[RUNS:.+]] = hone.broadcast %[[BEGIN]] dims [2] : tensor<2xi32> -> tensor<2x4x2x8xi32>
// CHECK: %[[AT:.+]] = hone.add %[[OFFSET]], %[[RUNS]]
// CHECK: %[[ROWS:.+]] = hone.reshape %[[AT]] : tensor<2x4x2x8xi32> -> tensor<2x4x16xi32>
// CHECK: hone.broadcast %[[ROWS]] dims [0, 1, 2] : tensor<2x4x16xi32> -> tensor<2x4x16x32xi32>
func.func @runs(%q: tensor<2x16x4x8xbf16>, %k: tensor<2x32x4x8xbf16>, %v: tensor<2x32x4x8xbf16>, %first: tensor<2xi64>) -> tensor<2x16x4x8xbf16> {
  %o, %l = hone.attention %q, %k, %v mask %first causal scale 1.0
    : (tensor<2x16x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2xi64>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
  return %o : tensor<2x16x4x8xbf16>
}
