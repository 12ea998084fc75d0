// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Rows of another length, and sums along other dimensions than the last or all before it.
// CHECK-LABEL: func.func @other_rows
// CHECK: hone.fused row
// CHECK: hone.fused row
// CHECK-NOT: hone.fused
// WHY-COUNT-2: (different row space)
func.func @other_rows(%x: tensor<16x64xf32>) -> (tensor<16xf32>, tensor<8xf32>) {
  %a = hone.reduce sum %x dims [1] : tensor<16x64xf32> -> tensor<16xf32>
  %w = hone.reshape %x : tensor<16x64xf32> -> tensor<8x128xf32>
  %b = hone.reduce sum %w dims [1] : tensor<8x128xf32> -> tensor<8xf32>
  return %a, %b : tensor<16xf32>, tensor<8xf32>
}
