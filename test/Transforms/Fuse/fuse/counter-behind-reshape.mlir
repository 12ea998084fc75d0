// A counter that a kernel and a copy both read, through one reshape, does not join the kernel, which waits for the copy:
// groups would depend on each other in a cycle.
// RUN: hone-opt %s --hone-fuse-groups | FileCheck %s

// CHECK: %[[COUNT:.*]] = hone.fused map () -> tensor<19xi64>
// CHECK: hone.fused data_movement
// CHECK: hone.broadcast
// CHECK: hone.fused map
// CHECK: hone.cmp
func.func @f() -> tensor<1x1x19x19xi1> {
  %i = hone.iota dim 0 : tensor<19xi64>
  %r = hone.reshape %i : tensor<19xi64> -> tensor<1x1x19xi64>
  %keys = hone.broadcast %r dims [0, 1, 3] : tensor<1x1x19xi64> -> tensor<1x1x19x19xi64>
  %queries = hone.broadcast %r dims [0, 1, 2] : tensor<1x1x19xi64> -> tensor<1x1x19x19xi64>
  %later = hone.cmp le, %keys, %queries : tensor<1x1x19x19xi64> -> tensor<1x1x19x19xi1>
  return %later : tensor<1x1x19x19xi1>
}
