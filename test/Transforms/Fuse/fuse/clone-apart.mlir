// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// In one kernel with its original, a recomputed value would be a saved one.
// CHECK-LABEL: func.func @clone_apart
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh %{{[a-z0-9]+}} : tensor<8x64xf32>
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh {{.*}} {hone.clone}
// CHECK-NEXT:   hone.yield
// WHY-COUNT-2: (a clone stays apart from its original)
func.func @clone_apart(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.tanh %x {hone.clone} : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// It may be in one with what its original does not compute.
// CHECK-LABEL: func.func @clone_of_another
// CHECK: hone.fused map
// CHECK:   hone.tanh
// CHECK:   hone.exp
// CHECK-NOT: hone.fused
func.func @clone_of_another(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %x {hone.clone} : tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}
