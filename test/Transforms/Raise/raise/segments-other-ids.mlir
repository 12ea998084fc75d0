// RUN: hone-opt %s --hone-raise | FileCheck %s

// Ids of queries are compared with the ids that follow those of keys. It stays a mask, beside causality.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: tensor<2x16xi64>
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{[a-z0-9]+}} causal scale 5.000000e-01 :
// CHECK-SAME: tensor<2x4x16x16xf32>)

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>,
    %ids: tensor<2x16xi64>) -> tensor<2x4x16x6xf32> {
  %kt = hone.transpose %k [0, 1, 3, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x6x16xf32>
  %dots = hone.dot_general %q, %kt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x6xf32>, tensor<2x4x6x16xf32> -> tensor<2x4x16x16xf32>
  %scale_s = hone.constant dense<0.5> : tensor<2x4x16x16xf32>
  %s = hone.mul %dots, %scale_s : tensor<2x4x16x16xf32>
  %one = hone.constant dense<1> : tensor<2x16xi64>
  %next = hone.add %ids, %one : tensor<2x16xi64>
  %of_q = hone.broadcast %ids dims [0, 2] : tensor<2x16xi64> -> tensor<2x4x16x16xi64>
  %of_k = hone.broadcast %next dims [0, 3] : tensor<2x16xi64> -> tensor<2x4x16x16xi64>
  %same = hone.cmp eq, %of_q, %of_k : tensor<2x4x16x16xi64> -> tensor<2x4x16x16xi1>
  %t = hone.iota dim 2 : tensor<2x4x16x16xi64>
  %u = hone.iota dim 3 : tensor<2x4x16x16xi64>
  %past = hone.cmp le, %u, %t : tensor<2x4x16x16xi64> -> tensor<2x4x16x16xi1>
  %keep = hone.and %same, %past : tensor<2x4x16x16xi1>
  %low = hone.constant dense<0xFF800000> : tensor<2x4x16x16xf32>
  %a = hone.select %keep, %s, %low : tensor<2x4x16x16xi1>, tensor<2x4x16x16xf32>
  %w = hone.softmax %a : tensor<2x4x16x16xf32>
  %y = hone.dot_general %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x16xf32>, tensor<2x4x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
