// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A matrix is read once for both.
// CHECK-LABEL: func.func @siblings
// CHECK: hone.group map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.exp
// CHECK-NOT: hone.group
func.func @siblings(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %x : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// A vector costs nothing to read again.
// CHECK-LABEL: func.func @vector_siblings
// CHECK: hone.group map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.group map
// CHECK-NEXT:   hone.exp
func.func @vector_siblings(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = hone.tanh %x : tensor<64xf32>
  %b = hone.exp %x : tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// Nothing is saved.
// CHECK-LABEL: func.func @strangers
// CHECK: hone.group map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.group map
// CHECK-NEXT:   hone.exp
func.func @strangers(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %y : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}
