// RUN: hone-opt %s --hone-bound-ids --hone-guard-ids -o %t
// RUN: FileCheck %s < %t
// RUN: hone-run --eval %t | FileCheck %s --check-prefix=FOUND

// i8 has neither the 300 of rows nor the ignored id 300: ids are not compared with them.

// CHECK: %[[IDS:.+]] = hone.cast %{{.+}} : tensor<2x3xf32> -> tensor<2x3xi8>
// CHECK: %[[INSIDE:.+]] = hone.cmp{{ +}}ge, %[[IDS]]
// CHECK-NOT: hone.cmp{{ +}}lt
// CHECK: %[[SAFE:.+]] = hone.select %[[INSIDE]], %[[IDS]], %{{.+}} : tensor<2x3xi1>, tensor<2x3xi8>
// CHECK: hone.embedding %{{.+}}, %[[SAFE]]
// CHECK: hone.cmp{{ +}}lt, %[[IDS]], %{{.+}} : tensor<2x3xi8> -> tensor<2x3xi1>
// CHECK-NOT: hone.cmp{{ +}}eq, %{{.+}} : tensor<2x3xi8> -> tensor<2x3xi1>
// CHECK: hone.cross_entropy
// FOUND: result 0: tensor<f32> = 48
// FOUND-NEXT: result 1: tensor<f32> = 27.63
// FOUND-NEXT: result 2: tensor<i64> = -2
// FOUND-NEXT: result 3: tensor<i64> = 127
// FOUND-NEXT: result 4: tensor<i64> = 127
func.func @forward() -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "loss"}) {
  %w = hone.constant dense<1.0> : tensor<300x4xf32>
  %few = hone.constant dense<1.0> : tensor<100x4xf32>
  %logits = hone.constant dense<1.0> : tensor<2x3x100xf32>
  %x = hone.constant dense<[[0.5, 60.0, 127.0], [6.9, 2.0, -2.0]]> : tensor<2x3xf32>
  %ids = hone.cast %x : tensor<2x3xf32> -> tensor<2x3xi8>
  %a = hone.embedding %w, %ids : tensor<300x4xf32>, tensor<2x3xi8> -> tensor<2x3x4xf32>
  %b = hone.embedding %few, %ids : tensor<100x4xf32>, tensor<2x3xi8> -> tensor<2x3x4xf32>
  %y = hone.add %a, %b : tensor<2x3x4xf32>
  %first = hone.reduce sum %y dims [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>
  %second, %lse = hone.cross_entropy sum %logits, %ids ignore_index 300 label_smoothing 0.0 : tensor<2x3x100xf32>, tensor<2x3xi8> -> tensor<f32>, tensor<2x3xf32>
  return %first, %second : tensor<f32>, tensor<f32>
}
