// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A vector costs nothing to read again.
// CHECK-LABEL: func.func @vector_siblings
// WHY-COUNT-2: (only vectors are shared)
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK-NEXT:   hone.exp
func.func @vector_siblings(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = hone.tanh %x : tensor<64xf32>
  %b = hone.exp %x : tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// Nor does the scale that two norms share.
// CHECK-LABEL: func.func @shared_gamma
// CHECK: hone.fused map
// CHECK: hone.fused map
// WHY-COUNT-2: (only vectors are shared)
func.func @shared_gamma(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %gamma: tensor<64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %g = hone.broadcast %gamma dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %a = hone.mul %x, %g : tensor<8x64xf32>
  %h = hone.broadcast %gamma dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %b = hone.mul %y, %h : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}
