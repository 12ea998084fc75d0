// What axis tp and sequences divide: nothing is an error, weights of products that stay whole are a warning.
// RUN: split-file %s %t
// RUN: hone-opt %t/mlp.mlir --dist-annotate="mesh=tp=2 sequence" 2>&1 | FileCheck %s --check-prefix=FITS
// FITS-NOT: warning
// FITS: tensor<12x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {}>
// RUN: hone-opt %t/mlp.mlir --dist-annotate=mesh=tp=4 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: warning: axis tp of 4 ranks leaves 1 weight whole, so that each rank computes with all of it: 'head' (6x8: dimension 0 is 6, no multiple of 4)
// RUN: not hone-opt %t/mlp.mlir --dist-annotate=mesh=tp=5 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: axis tp of 5 ranks divides none of 4 parameters, expected a size that does: 'up' (12x8: dimension 0 is 12, no multiple of 5), 'down' (8x12: dimension 1 is 12, no multiple of 5), 'head' (6x8: dimension 0 is 6, no multiple of 5)
// RUN: not hone-opt %t/mlp.mlir --dist-annotate="mesh=tp=4 sequence" 2>&1 | FileCheck %s --check-prefix=POSITIONS
// POSITIONS: error: sequence divides nothing along axis tp of 4 ranks: input 'x' has 6 positions, expected a multiple of 4
// RUN: not hone-opt %t/heads.mlir --dist-annotate="mesh=tp=2" 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: error: axis tp of 2 ranks divides none of 1 parameters, expected a size that does: 'qkv' (12x8: dimension 0 goes with one of size 3, no multiple of 2)
// RUN: not hone-opt %t/vector.mlir --dist-annotate="mesh=tp=2 sequence" 2>&1 | FileCheck %s --check-prefix=VECTOR
// VECTOR: error: sequence divides nothing along axis tp of 2 ranks: no input has positions, expected one of two dimensions
// RUN: not hone-opt %t/column.mlir --dist-annotate="mesh=tp=2 sequence" 2>&1 | FileCheck %s --check-prefix=SUMS
// SUMS: error: sequence divides nothing along axis tp of 2 ranks: input 'x' has 6 positions, expected sums over what the axis divides that have them
// Without the axis, or one that divides nobody's work, nothing is said.
// RUN: hone-opt %t/mlp.mlir --dist-annotate=mesh=dp=2 2>&1 | FileCheck %s --check-prefix=QUIET
// RUN: hone-opt %t/heads.mlir --dist-annotate=mesh=tp=1 2>&1 | FileCheck %s --check-prefix=QUIET
// QUIET-NOT: warning

//--- mlp.mlir
func.func @forward(%up: tensor<12x8xf32> {hone.fqn = "up", hone.kind = "param"},
                   %down: tensor<8x12xf32> {hone.fqn = "down", hone.kind = "param"},
                   %head: tensor<6x8xf32> {hone.fqn = "head", hone.kind = "param"},
                   %scale: tensor<8xf32> {hone.fqn = "scale", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x6xf32> {
  %n, %m, %i = hone.layer_norm %x scale %scale eps 1.0e-05 : (tensor<2x6x8xf32>, tensor<8xf32>) -> (tensor<2x6x8xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %h = hone.dot_general %n, %up batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<12x8xf32> -> tensor<2x6x12xf32>
  %g = hone.neg %h : tensor<2x6x12xf32>
  %s = hone.dot_general %g, %down batch [] x [] contract [2] x [1] : tensor<2x6x12xf32>, tensor<8x12xf32> -> tensor<2x6x8xf32>
  %r, %rm, %ri = hone.layer_norm %s scale %scale eps 1.0e-05 : (tensor<2x6x8xf32>, tensor<8xf32>) -> (tensor<2x6x8xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %y = hone.dot_general %r, %head batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<6x8xf32> -> tensor<2x6x6xf32>
  return %y : tensor<2x6x6xf32>
}

// Three heads in twelve features.
//--- heads.mlir
func.func @forward(%qkv: tensor<12x8xf32> {hone.fqn = "qkv", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x3x4xf32> {
  %h = hone.dot_general %x, %qkv batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<12x8xf32> -> tensor<2x6x12xf32>
  %y = hone.reshape %h : tensor<2x6x12xf32> -> tensor<2x6x3x4xf32>
  return %y : tensor<2x6x3x4xf32>
}

//--- vector.mlir
func.func @forward(%w: tensor<8x4xf32> {hone.fqn = "w", hone.kind = "param"},
                   %t: tensor<6xi64> {hone.fqn = "t", hone.kind = "input"}) -> tensor<8x4xf32> {
  %y = hone.neg %w : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

//--- column.mlir
func.func @forward(%w: tensor<12x8xf32> {hone.fqn = "w", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x12xf32> {
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<12x8xf32> -> tensor<2x6x12xf32>
  return %y : tensor<2x6x12xf32>
}
