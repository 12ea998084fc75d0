// Ops on blocks of rows: text that prints as it was read, and what the verifier refuses.
// RUN: hone-opt %s --split-input-file --verify-diagnostics | FileCheck %s
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

// -----

func.func @f(%x: tensor<4x8x32xf32>, %ids: tensor<2x16xi64>) {
  // expected-error @below {{ids has rank 2, expected 3}}
  %0 = dist.block_embedding %x, %ids : tensor<4x8x32xf32>, tensor<2x16xi64> -> tensor<2x16x32xf32>
  return
}

// -----

func.func @f(%x: tensor<32x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{table has rank 2, expected 3 or 4}}
  %0 = dist.block_embedding %x, %ids : tensor<32x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{table has 3 blocks, expected a multiple of 2, those of ids}}
  %0 = dist.block_embedding %x, %ids : tensor<3x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{table has 4 blocks, expected 2, those of ids, in as many groups}}
  %0 = dist.block_embedding %x, %ids : tensor<2x4x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{result has shape [2, 2, 16, 8], expected [2, 2, 16, 32]}}
  %0 = dist.block_embedding %x, %ids : tensor<4x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x8xf32>
  return
}

// -----

func.func @f(%g: tensor<2x2x16x32xf16>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{grad has element type 'f16', expected 'f32'}}
  %0 = dist.block_embedding_bwd %g, %ids : tensor<2x2x16x32xf16>, tensor<2x2x16xi64> -> tensor<4x8x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x2x16x32xf32>, %w: tensor<4x48x32xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{contract is 0, expected 1 or 2}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 0
      : tensor<2x2x16x32xf32>, tensor<4x48x32xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @f(%x: tensor<2x2x16x32xf32>, %w: tensor<4x48x32xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{dimension 1 of weight has size 48, expected 32, the width of input}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 1
      : tensor<2x2x16x32xf32>, tensor<4x48x32xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @f(%x: tensor<2x2x16x32xf32>, %w: tensor<4x48x32xf32>, %ends: tensor<2x2x4xi32>) {
  // expected-error @below {{ends has shape [2, 2, 4], expected 2 groups and 2 blocks with 4 ends in all groups}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 2
      : tensor<2x2x16x32xf32>, tensor<4x48x32xf32>, tensor<2x2x4xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @f(%x: tensor<2x2x16x32xf32>, %y: tensor<2x2x8x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{rhs has shape [2, 2, 8, 48], expected [2, 2, 16, 48]}}
  %0 = dist.block_grouped_dot_bwd_weight %x, %y, %ends
      : tensor<2x2x16x32xf32>, tensor<2x2x8x48xf32>, tensor<2x2x2xi32> -> tensor<4x32x48xf32>
  return
}
