// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// An attention op whose mask is causal: the mask goes.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.cmp
// CHECK: hone.attention %[[Q]], %[[K]], %[[V]] causal scale 5.000000e-01

func.func @forward(%q: tensor<2x16x4x6xf32>,
    %k: tensor<2x16x4x6xf32>,
    %v: tensor<2x16x4x6xf32>) -> tensor<2x16x4x6xf32> {
  %t = hone.iota dim 0 : tensor<16x16xi64>
  %u = hone.iota dim 1 : tensor<16x16xi64>
  %m = hone.cmp le, %u, %t : tensor<16x16xi64> -> tensor<16x16xi1>
  %low = hone.constant dense<0xFF800000> : tensor<16x16xf32>
  %zero = hone.constant dense<0.0> : tensor<16x16xf32>
  %tri = hone.select %m, %zero, %low : tensor<16x16xi1>, tensor<16x16xf32>
  %mask = hone.reshape %tri : tensor<16x16xf32> -> tensor<1x1x16x16xf32>
  %y, %l = hone.attention %q, %k, %v mask %mask scale 0.5 : (tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>, tensor<1x1x16x16xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %y : tensor<2x16x4x6xf32>
}
