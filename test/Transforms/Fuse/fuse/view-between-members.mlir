// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Two ops with a reshape between them that is no part of their space: as one group, it would wait for its own result.

// CHECK-LABEL: func.func @view_between
// CHECK: %[[FIRST:.*]]:2 = hone.fused row
// CHECK: hone.reduce sum
// CHECK: %[[VIEW:.*]] = hone.reshape %[[FIRST]]#1
// CHECK: hone.fused map ({{.*}} = %[[FIRST]]#0 : {{.*}}, {{.*}} = %[[VIEW]] : tensor<37x1xf32>)
func.func @view_between(%x: tensor<37x1xf32>) -> tensor<37x1xf32> {
  %t = hone.tanh %x : tensor<37x1xf32>
  %s = hone.reduce sum %t dims [1] : tensor<37x1xf32> -> tensor<37xf32>
  %v = hone.reshape %s : tensor<37xf32> -> tensor<37x1xf32>
  %r = hone.sub %t, %v : tensor<37x1xf32>
  return %r : tensor<37x1xf32>
}
