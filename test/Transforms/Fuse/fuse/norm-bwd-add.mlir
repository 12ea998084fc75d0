// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The gradient that arrives along the residual stream is added where the norm's own is made.
// CHECK-LABEL: func.func @norm_bwd_add
// CHECK: hone.fused row
// CHECK:   hone.reduce sum
// CHECK:   hone.reduce sum
// CHECK:   hone.add {{.*}}
// CHECK-NEXT:   hone.yield
// CHECK-NOT: hone.fused
// WHY: row kernel of 9 ops that moves 8480 bytes: {{.*}}; saves {{[0-9]+}} bytes and 8 of 9 launches{{$}}
func.func @norm_bwd_add(%dy: tensor<8x64xf32>, %h: tensor<8x64xf32>, %rstd: tensor<8xf32>, %gamma: tensor<64xf32>,
    %res: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %gb = hone.broadcast %gamma dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %gh = hone.mul %dy, %gb : tensor<8x64xf32>
  %s1 = hone.reduce sum %gh dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p1 = hone.mul %gh, %h : tensor<8x64xf32>
  %s2 = hone.reduce sum %p1 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %b1 = hone.broadcast %s1 dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %b2 = hone.broadcast %s2 dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %e1 = hone.sub %gh, %b1 : tensor<8x64xf32>
  %e2 = hone.mul %h, %b2 : tensor<8x64xf32>
  %e3 = hone.sub %e1, %e2 : tensor<8x64xf32>
  %rb = hone.broadcast %rstd dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %e4 = hone.mul %e3, %rb : tensor<8x64xf32>
  %dx = hone.add %e4, %res : tensor<8x64xf32>
  return %dx : tensor<8x64xf32>
}
