// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A multiprocessor adds four sums over rows beside each other; a fifth is in a kernel of its own.
// CHECK-LABEL: func.func @five_sums
// CHECK: hone.fused row
// CHECK: hone.fused row
// CHECK-NOT: hone.fused
// WHY-COUNT-2: (more than 4 column sums)
module attributes {hone.target = "cuda sm_90"} {
func.func @five_sums(%x: tensor<8x64xf32>, %y0: tensor<8x64xf32>, %y1: tensor<8x64xf32>, %y2: tensor<8x64xf32>, %y3: tensor<8x64xf32>, %y4: tensor<8x64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %t0 = hone.mul %x, %y0 : tensor<8x64xf32>
  %s0 = hone.reduce sum %t0 dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %t1 = hone.mul %x, %y1 : tensor<8x64xf32>
  %s1 = hone.reduce sum %t1 dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %t2 = hone.mul %x, %y2 : tensor<8x64xf32>
  %s2 = hone.reduce sum %t2 dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %t3 = hone.mul %x, %y3 : tensor<8x64xf32>
  %s3 = hone.reduce sum %t3 dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %t4 = hone.mul %x, %y4 : tensor<8x64xf32>
  %s4 = hone.reduce sum %t4 dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  return %s0, %s1, %s2, %s3, %s4 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
}
