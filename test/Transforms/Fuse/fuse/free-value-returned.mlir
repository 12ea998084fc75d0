// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A result must be stored.
// CHECK-LABEL: func.func @returned
// CHECK: %[[GROUP:.*]] = hone.fused map
// CHECK-NEXT:   hone.broadcast
// CHECK: return %[[GROUP]]
func.func @returned(%t: tensor<64xf32>) -> tensor<8x64xf32> {
  %b = hone.broadcast %t dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}

// Elements of a table are data, and are stored once.
// CHECK-LABEL: func.func @table
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.constant dense<[
// CHECK: hone.fused map
// CHECK-NEXT:   hone.add
func.func @table(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = hone.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %r = hone.add %x, %c : tensor<8xf32>
  return %r : tensor<8xf32>
}
