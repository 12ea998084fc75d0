// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Reshapes before and after a group are views and need no kernel.
// CHECK-LABEL: func.func @border_reshapes
// CHECK: %[[VIEW:.*]] = hone.reshape
// CHECK: %[[GROUP:.*]] = hone.fused map ({{.*}} = %[[VIEW]]
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.reshape %[[GROUP]]
func.func @border_reshapes(%x: tensor<2x4x64xf32>) -> tensor<8x8x8xf32> {
  %a = hone.reshape %x : tensor<2x4x64xf32> -> tensor<8x64xf32>
  %t = hone.tanh %a : tensor<8x64xf32>
  %r = hone.reshape %t : tensor<8x64xf32> -> tensor<8x8x8xf32>
  return %r : tensor<8x8x8xf32>
}
