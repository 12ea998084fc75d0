// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-recompute-maps{report},hone-fuse-groups,hone-verify-groups))' -o /dev/null 2>&1 | FileCheck %s

// What takes more than 16 ops to make again is stored, and the report counts it.

// CHECK-NOT: @sixteen
// CHECK: remark: search stopped at its bound: @seventeen: 1 maps are stored that take more than 16 ops to make again
func.func @sixteen(%g: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %t0 = hone.neg %g : tensor<8x64xf32>
  %t1 = hone.add %t0, %g : tensor<8x64xf32>
  %t2 = hone.add %t1, %g : tensor<8x64xf32>
  %t3 = hone.add %t2, %g : tensor<8x64xf32>
  %t4 = hone.add %t3, %g : tensor<8x64xf32>
  %t5 = hone.add %t4, %g : tensor<8x64xf32>
  %t6 = hone.add %t5, %g : tensor<8x64xf32>
  %t7 = hone.add %t6, %g : tensor<8x64xf32>
  %t8 = hone.add %t7, %g : tensor<8x64xf32>
  %t9 = hone.add %t8, %g : tensor<8x64xf32>
  %t10 = hone.add %t9, %g : tensor<8x64xf32>
  %t11 = hone.add %t10, %g : tensor<8x64xf32>
  %t12 = hone.add %t11, %g : tensor<8x64xf32>
  %t13 = hone.add %t12, %g : tensor<8x64xf32>
  %t14 = hone.add %t13, %g : tensor<8x64xf32>
  %t15 = hone.add %t14, %g : tensor<8x64xf32>
  %t16 = hone.add %t15, %g : tensor<8x64xf32>
  %p = hone.dot_general %t16, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t15 : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

func.func @seventeen(%g: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %t0 = hone.neg %g : tensor<8x64xf32>
  %t1 = hone.add %t0, %g : tensor<8x64xf32>
  %t2 = hone.add %t1, %g : tensor<8x64xf32>
  %t3 = hone.add %t2, %g : tensor<8x64xf32>
  %t4 = hone.add %t3, %g : tensor<8x64xf32>
  %t5 = hone.add %t4, %g : tensor<8x64xf32>
  %t6 = hone.add %t5, %g : tensor<8x64xf32>
  %t7 = hone.add %t6, %g : tensor<8x64xf32>
  %t8 = hone.add %t7, %g : tensor<8x64xf32>
  %t9 = hone.add %t8, %g : tensor<8x64xf32>
  %t10 = hone.add %t9, %g : tensor<8x64xf32>
  %t11 = hone.add %t10, %g : tensor<8x64xf32>
  %t12 = hone.add %t11, %g : tensor<8x64xf32>
  %t13 = hone.add %t12, %g : tensor<8x64xf32>
  %t14 = hone.add %t13, %g : tensor<8x64xf32>
  %t15 = hone.add %t14, %g : tensor<8x64xf32>
  %t16 = hone.add %t15, %g : tensor<8x64xf32>
  %t17 = hone.add %t16, %g : tensor<8x64xf32>
  %p = hone.dot_general %t17, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t16 : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
