// What dist-block-experts says of products that belong to no mixture; with one group they stay as they are.
// RUN: hone-opt %s --dist-block-experts="groups=2" --split-input-file --verify-diagnostics
// RUN: hone-opt %s --dist-block-experts="blocks=2" --split-input-file | FileCheck %s

// CHECK: hone.grouped_dot %{{.+}} contract 1 : tensor<8x4xf32>
func.func @forward(%x: tensor<8x4xf32>, %w: tensor<2x4x4xf32>, %ends: tensor<2xi32>) -> tensor<8x4xf32> {
  // expected-error @below {{is in no mixture of experts that axis ep can divide}}
  // expected-note @below {{expected ends that are running counts of ids which hone.argsort has sorted at this 'hone.grouped_dot'}}
  %y = hone.grouped_dot %x, %w, %ends contract 1 : tensor<8x4xf32>, tensor<2x4x4xf32>, tensor<2xi32> -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Results that never return to their tokens.
// CHECK: hone.grouped_dot %{{.+}} contract 1 : tensor<16x4xf32>
func.func @forward(%x: tensor<8x4xf32>, %w: tensor<2x4x4xf32>, %scores: tensor<8x2xf32>) -> tensor<16x4xf32> {
  %ids = hone.topk %scores dim 1 : tensor<8x2xf32> -> tensor<8x2xi64>
  %flat = hone.reshape %ids : tensor<8x2xi64> -> tensor<16xi64>
  %order = hone.argsort %flat dim 0 : tensor<16xi64> -> tensor<16xi64>
  %sorted = hone.take_along %flat, %order dim 0 : tensor<16xi64>, tensor<16xi64> -> tensor<16xi64>
  %two = hone.constant dense<2> : tensor<16xi64>
  %tokens = hone.div %order, %two : tensor<16xi64>
  %one = hone.constant dense<1> : tensor<16xi64>
  %counts = hone.put_along sum %one, %sorted dim 0 : tensor<16xi64>, tensor<16xi64> -> tensor<2xi64>
  %ends = hone.cumsum %counts dim 0 : tensor<2xi64>
  %rows = hone.embedding %x, %tokens : tensor<8x4xf32>, tensor<16xi64> -> tensor<16x4xf32>
  // expected-error @below {{is in no mixture of experts that axis ep can divide}}
  // expected-note @below {{expected results that return to their tokens at this 'hone.grouped_dot'}}
  %y = hone.grouped_dot %rows, %w, %ends contract 1 : tensor<16x4xf32>, tensor<2x4x4xf32>, tensor<2xi64> -> tensor<16x4xf32>
  return %y : tensor<16x4xf32>
}

// -----

// Rows of two tokens are mixed: a running sum over dimension 0.
// CHECK: hone.grouped_dot %{{.+}} contract 1 : tensor<16x4xf32>
func.func @forward(%x: tensor<8x4xf32>, %w: tensor<2x4x4xf32>, %scores: tensor<8x2xf32>) -> tensor<16x4xf32> {
  %ids = hone.topk %scores dim 1 : tensor<8x2xf32> -> tensor<8x2xi64>
  %flat = hone.reshape %ids : tensor<8x2xi64> -> tensor<16xi64>
  %order = hone.argsort %flat dim 0 : tensor<16xi64> -> tensor<16xi64>
  %sorted = hone.take_along %flat, %order dim 0 : tensor<16xi64>, tensor<16xi64> -> tensor<16xi64>
  %two = hone.constant dense<2> : tensor<16xi64>
  %tokens = hone.div %order, %two : tensor<16xi64>
  %one = hone.constant dense<1> : tensor<16xi64>
  %counts = hone.put_along sum %one, %sorted dim 0 : tensor<16xi64>, tensor<16xi64> -> tensor<2xi64>
  %ends = hone.cumsum %counts dim 0 : tensor<2xi64>
  %rows = hone.embedding %x, %tokens : tensor<8x4xf32>, tensor<16xi64> -> tensor<16x4xf32>
  // expected-note @below {{expected an op that computes each row by itself at this 'hone.cumsum'}}
  %mixed = hone.cumsum %rows dim 0 : tensor<16x4xf32>
  // expected-error @below {{is in no mixture of experts that axis ep can divide}}
  %y = hone.grouped_dot %mixed, %w, %ends contract 1 : tensor<16x4xf32>, tensor<2x4x4xf32>, tensor<2xi64> -> tensor<16x4xf32>
  return %y : tensor<16x4xf32>
}

// -----

// CHECK: return %arg0
// expected-error @below {{has no products of groups of rows (hone.grouped_dot), expected experts for axis ep}}
func.func @forward(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  return %x : tensor<8x4xf32>
}
