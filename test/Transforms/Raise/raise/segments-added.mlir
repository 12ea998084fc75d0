// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// 0 or the lowest number is added, with ids that differ or a later key hidden.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: tensor<2x16xi64>
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[IDS]] causal scale 5.000000e-01 :

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>,
    %ids: tensor<2x16xi64>) -> tensor<2x4x16x6xf32> {
  %kt = hone.transpose %k [0, 1, 3, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x6x16xf32>
  %dots = hone.dot_general %q, %kt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x6xf32>, tensor<2x4x6x16xf32> -> tensor<2x4x16x16xf32>
  %scale_s = hone.constant dense<0.5> : tensor<2x4x16x16xf32>
  %s = hone.mul %dots, %scale_s : tensor<2x4x16x16xf32>
  %one_q = hone.reshape %ids : tensor<2x16xi64> -> tensor<2x1x16x1xi64>
  %one_k = hone.reshape %ids : tensor<2x16xi64> -> tensor<2x1x1x16xi64>
  %rows = hone.reshape %one_q : tensor<2x1x16x1xi64> -> tensor<2x16xi64>
  %cols = hone.reshape %one_k : tensor<2x1x1x16xi64> -> tensor<2x16xi64>
  %of_q = hone.broadcast %rows dims [0, 2] : tensor<2x16xi64> -> tensor<2x1x16x16xi64>
  %of_k = hone.broadcast %cols dims [0, 3] : tensor<2x16xi64> -> tensor<2x1x16x16xi64>
  %other = hone.cmp ne, %of_q, %of_k : tensor<2x1x16x16xi64> -> tensor<2x1x16x16xi1>
  %t = hone.iota dim 2 : tensor<2x1x16x16xi64>
  %u = hone.iota dim 3 : tensor<2x1x16x16xi64>
  %later = hone.cmp gt, %u, %t : tensor<2x1x16x16xi64> -> tensor<2x1x16x16xi1>
  %hidden = hone.or %other, %later : tensor<2x1x16x16xi1>
  %zero = hone.constant dense<0.0> : tensor<2x1x16x16xf32>
  %low = hone.constant dense<-1.0e+09> : tensor<2x1x16x16xf32>
  %m = hone.select %hidden, %low, %zero : tensor<2x1x16x16xi1>, tensor<2x1x16x16xf32>
  %m3 = hone.reshape %m : tensor<2x1x16x16xf32> -> tensor<2x16x16xf32>
  %mb = hone.broadcast %m3 dims [0, 2, 3] : tensor<2x16x16xf32> -> tensor<2x4x16x16xf32>
  %a = hone.add %s, %mb : tensor<2x4x16x16xf32>
  %w = hone.softmax %a : tensor<2x4x16x16xf32>
  %y = hone.dot_general %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x16xf32>, tensor<2x4x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
