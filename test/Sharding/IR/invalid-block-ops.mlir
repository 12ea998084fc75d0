// RUN: hone-opt %s --split-input-file --verify-diagnostics

func.func @block_embedding_c1(%a: tensor<4x8x32xf32>, %ids: tensor<2x16xi64>) {
  // expected-error @below {{ids has rank 2, expected 3}}
  %0 = dist.block_embedding %a, %ids : tensor<4x8x32xf32>, tensor<2x16xi64> -> tensor<2x16x32xf32>
  return
}

// -----

func.func @block_embedding_c1_table(%a: tensor<32x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{table has rank 2, expected 3 or 4}}
  %0 = dist.block_embedding %a, %ids : tensor<32x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @block_embedding_c2(%a: tensor<3x8x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{table has 3 blocks, expected a multiple of 2, those of ids}}
  %0 = dist.block_embedding %a, %ids : tensor<3x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @block_embedding_c2_groups(%a: tensor<2x4x8x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{table has 4 blocks, expected 2, those of ids, in as many groups}}
  %0 = dist.block_embedding %a, %ids : tensor<2x4x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @block_embedding_c3(%a: tensor<4x8x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{result has shape [2, 2, 16, 8], expected [2, 2, 16, 32]}}
  %0 = dist.block_embedding %a, %ids : tensor<4x8x32xf32>, tensor<2x2x16xi64> -> tensor<2x2x16x8xf32>
  return
}

// -----

func.func @block_embedding_bwd_c1(%a: tensor<2x2x16x32xf32>, %ids: tensor<2x16xi64>) {
  // expected-error @below {{ids has rank 2, expected 3}}
  %0 = dist.block_embedding_bwd %a, %ids : tensor<2x2x16x32xf32>, tensor<2x16xi64> -> tensor<4x8x32xf32>
  return
}

// -----

func.func @block_embedding_bwd_c2(%a: tensor<2x2x16x32xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{result has 3 blocks, expected a multiple of 2, those of ids}}
  %0 = dist.block_embedding_bwd %a, %ids : tensor<2x2x16x32xf32>, tensor<2x2x16xi64> -> tensor<3x8x32xf32>
  return
}

// -----

func.func @block_embedding_bwd_c3(%a: tensor<2x2x16x8xf32>, %ids: tensor<2x2x16xi64>) {
  // expected-error @below {{grad has shape [2, 2, 16, 8], expected [2, 2, 16, 32]}}
  %0 = dist.block_embedding_bwd %a, %ids : tensor<2x2x16x8xf32>, tensor<2x2x16xi64> -> tensor<4x8x32xf32>
  return
}

// -----

func.func @block_grouped_dot_c1(%x: tensor<2x16x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{input has rank 3, expected 4}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 1 : tensor<2x16x32xf32>, tensor<4x32x48xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @block_grouped_dot_c2(%x: tensor<2x2x16x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{contract is 0, expected 1 or 2}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 0 : tensor<2x2x16x32xf32>, tensor<4x32x48xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @block_grouped_dot_c2_size(%x: tensor<2x2x16x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{dimension 2 of weight has size 48, expected 32, the width of input}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 2 : tensor<2x2x16x32xf32>, tensor<4x32x48xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @block_grouped_dot_c3(%x: tensor<2x2x16x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<2x2x3xi32>) {
  // expected-error @below {{ends has shape [2, 2, 3], expected 2 groups and 2 blocks with 4 ends in all groups}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 1 : tensor<2x2x16x32xf32>, tensor<4x32x48xf32>, tensor<2x2x3xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @block_grouped_dot_c4(%x: tensor<2x2x16x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{result has shape [2, 2, 16, 32], expected [2, 2, 16, 48]}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 1 : tensor<2x2x16x32xf32>, tensor<4x32x48xf32>, tensor<2x2x2xi32> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @block_grouped_dot_c5(%x: tensor<2x2x16x32xf32>, %w: tensor<4x32x48xbf16>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{weight has element type 'bf16', expected 'f32'}}
  %0 = dist.block_grouped_dot %x, %w, %ends contract 1 : tensor<2x2x16x32xf32>, tensor<4x32x48xbf16>, tensor<2x2x2xi32> -> tensor<2x2x16x48xf32>
  return
}

// -----

func.func @block_grouped_dot_bwd_weight_c1(%l: tensor<2x2x16x32xf32>, %r: tensor<2x2x8x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{rhs has shape [2, 2, 8, 48], expected [2, 2, 16, 48]}}
  %0 = dist.block_grouped_dot_bwd_weight %l, %r, %ends : tensor<2x2x16x32xf32>, tensor<2x2x8x48xf32>, tensor<2x2x2xi32> -> tensor<4x32x48xf32>
  return
}

// -----

func.func @block_grouped_dot_bwd_weight_c2(%l: tensor<2x2x16x32xf32>, %r: tensor<2x2x16x48xf32>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{result has shape [4, 32, 32], expected [4, 32, 48]}}
  %0 = dist.block_grouped_dot_bwd_weight %l, %r, %ends : tensor<2x2x16x32xf32>, tensor<2x2x16x48xf32>, tensor<2x2x2xi32> -> tensor<4x32x32xf32>
  return
}

// -----

func.func @block_grouped_dot_bwd_weight_c3(%l: tensor<2x2x16x32xf32>, %r: tensor<2x2x16x48xf32>, %ends: tensor<2x2x3xi32>) {
  // expected-error @below {{ends has shape [2, 2, 3], expected 2 groups and 2 blocks with 4 ends in all groups}}
  %0 = dist.block_grouped_dot_bwd_weight %l, %r, %ends : tensor<2x2x16x32xf32>, tensor<2x2x16x48xf32>, tensor<2x2x3xi32> -> tensor<4x32x48xf32>
  return
}

// -----

func.func @block_grouped_dot_bwd_weight_c4(%l: tensor<2x2x16x32xf32>, %r: tensor<2x2x16x48xbf16>, %ends: tensor<2x2x2xi32>) {
  // expected-error @below {{rhs has element type 'bf16', expected 'f32'}}
  %0 = dist.block_grouped_dot_bwd_weight %l, %r, %ends : tensor<2x2x16x32xf32>, tensor<2x2x16x48xbf16>, tensor<2x2x2xi32> -> tensor<4x32x48xf32>
  return
}

// -----

func.func @block_permute_c1(%x: tensor<4x8x32xf32>, %i: tensor<1x4x20xi64>, %b: tensor<1x4x16xi64>) {
  // expected-error @below {{rows has rank 3, expected 4}}
  %0 = dist.block_permute %x, %i back %b : tensor<4x8x32xf32>, tensor<1x4x20xi64>, tensor<1x4x16xi64> -> tensor<1x4x20x32xf32>
  return
}

// -----

func.func @block_permute_c1_blocks(%x: tensor<1x4x8x32xf32>, %i: tensor<1x2x20xi64>, %b: tensor<1x4x16xi64>) {
  // expected-error @below {{ids has shape [1, 2, 20], expected [1, 4, 20]}}
  %0 = dist.block_permute %x, %i back %b : tensor<1x4x8x32xf32>, tensor<1x2x20xi64>, tensor<1x4x16xi64> -> tensor<1x4x20x32xf32>
  return
}

// -----

func.func @block_permute_c2(%x: tensor<1x4x8x32xf32>, %i: tensor<1x4x20xi64>, %b: tensor<1x4x12xi64>) {
  // expected-error @below {{back has 12 elements for a block, expected a multiple of 8, its rows}}
  %0 = dist.block_permute %x, %i back %b : tensor<1x4x8x32xf32>, tensor<1x4x20xi64>, tensor<1x4x12xi64> -> tensor<1x4x20x32xf32>
  return
}

// -----

func.func @block_permute_c3(%x: tensor<1x4x8x32xf32>, %i: tensor<1x4x20xi64>, %b: tensor<1x4x16xi64>) {
  // expected-error @below {{result has shape [1, 4, 8, 32], expected [1, 4, 20, 32]}}
  %0 = dist.block_permute %x, %i back %b : tensor<1x4x8x32xf32>, tensor<1x4x20xi64>, tensor<1x4x16xi64> -> tensor<1x4x8x32xf32>
  return
}

// -----

func.func @block_exchange_c1(%x: tensor<1x4x16x32xf32>) {
  // expected-error @below {{has operand and result of ranks 4 and 4, expected equal ranks from 3 on, and equal dimensions behind the rows}}
  %0 = dist.block_exchange %x : tensor<1x4x16x32xf32> -> tensor<2x2x16x8xf32>
  return
}

// -----

func.func @block_exchange_c2(%x: tensor<2x4x16x32xf32>) {
  // expected-error @below {{has 2 groups on the side of tokens, expected 1}}
  %0 = dist.block_exchange %x : tensor<2x4x16x32xf32> -> tensor<2x2x16x32xf32>
  return
}

// -----

func.func @block_exchange_c3(%x: tensor<1x4x16x32xf32>) {
  // expected-error @below {{has 4 sources of 16 rows, expected a multiple of 3 blocks, and as many rows in all as 2 groups with 16 in each}}
  %0 = dist.block_exchange %x : tensor<1x4x16x32xf32> -> tensor<2x3x16x32xf32>
  return
}
