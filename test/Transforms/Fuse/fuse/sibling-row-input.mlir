// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A matrix is read once for both.
// CHECK-LABEL: func.func @siblings
// WHY: map kernel of 2 ops that moves 6144 bytes: 1 value read once for all; saves 2048 bytes and 1 of 2 launches{{$}}
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.exp
// CHECK-NOT: hone.fused
func.func @siblings(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %x : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// Nothing is saved.
// CHECK-LABEL: func.func @strangers
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK-NEXT:   hone.exp
func.func @strangers(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %y : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}
