// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Sums of rows of a vocabulary's width leave no room on chip for the row itself.
// CHECK-LABEL: func.func @wide_sum
// CHECK: hone.fused map
// CHECK: hone.fused row
// CHECK-NOT: hone.fused
// WHY-COUNT-2: (column sums of rows wider than 16384)
module attributes {hone.target = "cuda sm_90"} {
func.func @wide_sum(%x: tensor<8x30528xf32>) -> (tensor<8x30528xf32>, tensor<30528xf32>) {
  %t = hone.tanh %x : tensor<8x30528xf32>
  %s = hone.reduce sum %t dims [0] : tensor<8x30528xf32> -> tensor<30528xf32>
  return %t, %s : tensor<8x30528xf32>, tensor<30528xf32>
}
}
