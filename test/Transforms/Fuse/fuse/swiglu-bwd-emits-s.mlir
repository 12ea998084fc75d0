// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The activation is made again where the backward pass reads its inputs anyway: one more result, no more reads.
// CHECK-LABEL: func.func @swiglu_bwd_emits
// CHECK: hone.fused map {{.*}} -> tensor<8x64xf32>
// CHECK: hone.fused contraction
// CHECK: hone.fused map {{.*}} -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
// CHECK:   hone.mul {{.*}} {hone.clone}
// CHECK: hone.fused contraction
// WHY: map kernel of 8 ops that moves 12288 bytes: {{.*}}; not joined: hone.mul (hone.dot_general lies between)
func.func @swiglu_bwd_emits(%g: tensor<8x64xf32>, %u: tensor<8x64xf32>, %w: tensor<64x64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64x64xf32>) {
  %s = hone.logistic %g : tensor<8x64xf32>
  %i = hone.mul %g, %s : tensor<8x64xf32>
  %a = hone.mul %i, %u : tensor<8x64xf32>
  %d = hone.dot_general %a, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %sc = hone.logistic %g {hone.clone} : tensor<8x64xf32>
  %ic = hone.mul %g, %sc {hone.clone} : tensor<8x64xf32>
  %ac = hone.mul %ic, %u {hone.clone} : tensor<8x64xf32>
  %du = hone.mul %d, %ic : tensor<8x64xf32>
  %x = hone.mul %d, %u : tensor<8x64xf32>
  %dg = hone.mul %x, %sc : tensor<8x64xf32>
  %n = hone.sub %dg, %x : tensor<8x64xf32>
  %e = hone.mul %n, %sc : tensor<8x64xf32>
  %dw = hone.dot_general %d, %ac batch [] x [] contract [0] x [0]
      : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
  return %du, %e, %dw : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64x64xf32>
}
