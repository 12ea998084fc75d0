// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_80},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s --check-prefixes=CHECK,AMPERE

// Behaviour 26: the call of a weight's gradient sums an operand over the rows, where the table of the architecture
// says that it pays. It slows long products down by more than what a kernel of ours takes, measured on both.

// CHECK-LABEL: func.func @bias_gradient
// CHECK: hone.fused row
// CHECK-NEXT: hone.cast
// CHECK-NEXT: hone.reduce
// CHECK: hone.fused contraction
// CHECK-NEXT: hone.dot_general
// CHECK-NEXT: hone.yield
func.func @bias_gradient(%dy: tensor<8192x4096xbf16>, %x: tensor<8192x4096xbf16>)
    -> (tensor<4096x4096xf32>, tensor<4096xf32>) {
  %wide = hone.cast %dy : tensor<8192x4096xbf16> -> tensor<8192x4096xf32>
  %db = hone.reduce sum %wide dims [0] : tensor<8192x4096xf32> -> tensor<4096xf32>
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8192x4096xbf16>, tensor<8192x4096xbf16> -> tensor<4096x4096xf32>
  return %d, %db : tensor<4096x4096xf32>, tensor<4096xf32>
}

// CHECK-LABEL: func.func @short_product
// HOPPER: %[[G:.*]]:2 = hone.fused contraction
// HOPPER:   hone.reduce sum
// HOPPER:   hone.dot_general
// HOPPER-NOT: hone.fused
// AMPERE: hone.fused row
func.func @short_product(%dy: tensor<8192x4096xf32>, %x: tensor<8192x64xf32>)
    -> (tensor<4096x64xf32>, tensor<4096xf32>) {
  %db = hone.reduce sum %dy dims [0] : tensor<8192x4096xf32> -> tensor<4096xf32>
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8192x4096xf32>, tensor<8192x64xf32> -> tensor<4096x64xf32>
  return %d, %db : tensor<4096x64xf32>, tensor<4096xf32>
}
