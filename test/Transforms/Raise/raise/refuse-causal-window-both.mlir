// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// A window that reaches to both sides: later keys are seen.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK: %[[QT:.+]] = hone.transpose %[[Q]] [0, 2, 1, 3]
// CHECK: %[[KT:.+]] = hone.transpose %[[K]] [0, 2, 1, 3]
// CHECK: %[[VT:.+]] = hone.transpose %[[V]] [0, 2, 1, 3]
// CHECK: %[[O:.+]], %{{.+}} = hone.attention %[[QT]], %[[KT]], %[[VT]] mask %{{.+}} scale 5.000000e-01 :
// CHECK-NEXT: %[[Y:.+]] = hone.transpose %[[O]] [0, 2, 1, 3]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>) -> tensor<2x4x16x6xf32> {
  %kt = hone.transpose %k [0, 1, 3, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x6x16xf32>
  %dots = hone.dot_general %q, %kt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x6xf32>, tensor<2x4x6x16xf32> -> tensor<2x4x16x16xf32>
  %scale_s = hone.constant dense<0.5> : tensor<2x4x16x16xf32>
  %s = hone.mul %dots, %scale_s : tensor<2x4x16x16xf32>
  %t = hone.iota dim 0 : tensor<16x16xi64>
  %u = hone.iota dim 1 : tensor<16x16xi64>
  %three = hone.constant dense<3> : tensor<16x16xi64>
  %t3 = hone.sub %t, %three : tensor<16x16xi64>
  %t6 = hone.add %t, %three : tensor<16x16xi64>
  %later = hone.cmp gt, %u, %t6 : tensor<16x16xi64> -> tensor<16x16xi1>
  %early = hone.cmp lt, %u, %t3 : tensor<16x16xi64> -> tensor<16x16xi1>
  %m = hone.or %later, %early : tensor<16x16xi1>
  %mb = hone.broadcast %m dims [2, 3] : tensor<16x16xi1> -> tensor<2x4x16x16xi1>
  %low = hone.constant dense<0xFF800000> : tensor<2x4x16x16xf32>
  %a = hone.select %mb, %low, %s : tensor<2x4x16x16xi1>, tensor<2x4x16x16xf32>
  %w = hone.softmax %a : tensor<2x4x16x16xf32>
  %y = hone.dot_general %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x16xf32>, tensor<2x4x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
