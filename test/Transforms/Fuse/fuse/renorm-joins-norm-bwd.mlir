// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A norm made again from its input and its statistics costs no kernel: its backward reads both.
// CHECK-LABEL: func.func @renorm
// CHECK: hone.fused row ({{.*}} = %arg5 : tensor<8x64xf32>, {{.*}}) -> (tensor<8x64xf32>, tensor<8x64xf32>)
// CHECK:   hone.mul {{.*}} {hone.clone}
// CHECK:   hone.reduce sum
// CHECK-NOT: hone.fused
func.func @renorm(%dy: tensor<8x64xf32>, %mean: tensor<8xf32>, %rstd: tensor<8xf32>, %gamma: tensor<64xf32>,
    %res: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %mb = hone.broadcast %mean dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %c = hone.sub %x, %mb {hone.clone} : tensor<8x64xf32>
  %rc = hone.broadcast %rstd dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %h = hone.mul %c, %rc {hone.clone} : tensor<8x64xf32>
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
  return %dx, %h : tensor<8x64xf32>, tensor<8x64xf32>
}
