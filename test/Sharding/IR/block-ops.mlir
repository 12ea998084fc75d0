// Ops on blocks of rows: text that prints as it was read.
// RUN: hone-opt %s | FileCheck %s
// CHECK-LABEL: func.func @all
// CHECK: dist.block_embedding %{{.+}}, %{{.+}} : tensor<4x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
// CHECK: dist.block_embedding %{{.+}}, %{{.+}} : tensor<2x2x16x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
// CHECK: dist.block_embedding_bwd %{{.+}}, %{{.+}} : tensor<2x2x16x32xf32>, tensor<2x2x16xi64> -> tensor<4x8x32xf32>
// CHECK: dist.block_grouped_dot %{{.+}}, %{{.+}}, %{{.+}} contract 2
// CHECK: dist.block_grouped_dot_bwd_weight %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x2x16x48xf32>
func.func @all(%x: tensor<4x8x32xf32>, %ids: tensor<2x2x16xi64>, %w: tensor<4x48x32xf32>, %ends: tensor<2x2x2xi32>)
    -> (tensor<4x8x32xf32>, tensor<4x48x32xf32>) {
  %rows = dist.block_embedding %x, %ids : tensor<4x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  %own = dist.block_embedding %rows, %ids : tensor<2x2x16x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  %dx = dist.block_embedding_bwd %own, %ids : tensor<2x2x16x32xf32>, tensor<2x2x16xi64> -> tensor<4x8x32xf32>
  %y = dist.block_grouped_dot %own, %w, %ends contract 2
      : tensor<2x2x16x32xf32>, tensor<4x48x32xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x48xf32>
  %dw = dist.block_grouped_dot_bwd_weight %y, %own, %ends
      : tensor<2x2x16x48xf32>, tensor<2x2x16x32xf32>, tensor<2x2x2xi32> -> tensor<4x48x32xf32>
  return %dx, %dw : tensor<4x8x32xf32>, tensor<4x48x32xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x8x32xf32>, %ids: tensor<2x2x32xi64>, %g: tensor<2x2x32x32xf32>) {
  // CHECK: dist.block_embedding
  %rows = dist.block_embedding %x, %ids : tensor<4x8x32xf32>, tensor<2x2x32xi64> -> tensor<2x2x32x32xf32>
  // CHECK: dist.block_embedding_bwd
  %dx = dist.block_embedding_bwd %g, %ids : tensor<2x2x32x32xf32>, tensor<2x2x32xi64> -> tensor<4x8x32xf32>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x2x32x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<2x2x2xi32>,
    %dy: tensor<2x2x32x48xf32>) {
  // CHECK: dist.block_grouped_dot
  %y = dist.block_grouped_dot %x, %w, %ends contract 1
      : tensor<2x2x32x32xf32>, tensor<4x32x48xf32>, tensor<2x2x2xi32> -> tensor<2x2x32x48xf32>
  // CHECK: dist.block_grouped_dot_bwd_weight
  %dw = dist.block_grouped_dot_bwd_weight %x, %dy, %ends
      : tensor<2x2x32x32xf32>, tensor<2x2x32x48xf32>, tensor<2x2x2xi32> -> tensor<4x32x48xf32>
  return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<1x4x8x32xf32>, %ids: tensor<1x4x20xi64>, %back: tensor<1x4x16xi64>,
    %sent: tensor<1x4x16x32xf32>, %order: tensor<1x4x8xi64>, %counts: tensor<1x4x6xi32>) {
  // CHECK: dist.block_permute %{{.+}}, %{{.+}} back %{{.+}} : tensor<1x4x8x32xf32>, tensor<1x4x20xi64>, tensor<1x4x16xi64> -> tensor<1x4x20x32xf32>
  %y = dist.block_permute %x, %ids back %back
      : tensor<1x4x8x32xf32>, tensor<1x4x20xi64>, tensor<1x4x16xi64> -> tensor<1x4x20x32xf32>
  // CHECK: dist.block_permute total %{{.+}}, %{{.+}} back %{{.+}} : tensor<1x4x8x32xf32>
  %z = dist.block_permute total %x, %order back %order
      : tensor<1x4x8x32xf32>, tensor<1x4x8xi64>, tensor<1x4x8xi64> -> tensor<1x4x8x32xf32>
  // CHECK: dist.block_exchange %{{.+}} : tensor<1x4x16x32xf32> -> tensor<2x2x16x32xf32>
  %there = dist.block_exchange %sent : tensor<1x4x16x32xf32> -> tensor<2x2x16x32xf32>
  // CHECK: dist.block_exchange reverse %{{.+}} : tensor<2x2x16x32xf32> -> tensor<1x4x16x32xf32>
  %again = dist.block_exchange reverse %there : tensor<2x2x16x32xf32> -> tensor<1x4x16x32xf32>
  // CHECK: dist.block_exchange %{{.+}} : tensor<1x4x6xi32> -> tensor<2x2x6xi32>
  %c = dist.block_exchange %counts : tensor<1x4x6xi32> -> tensor<2x2x6xi32>
  return
}

// CHECK-LABEL: func.func @exchange
func.func @exchange(%x: tensor<1x4x16x32xf32>) {
  // CHECK: dist.block_exchange
  %y = dist.block_exchange %x : tensor<1x4x16x32xf32> -> tensor<2x2x16x32xf32>
  return
}
