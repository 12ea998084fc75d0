// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-verify-groups))' --split-input-file --verify-diagnostics

func.func @no_space(%x: tensor<8x64xf32>) -> tensor<64x8xf32> {
  // expected-error@+1 {{has family map but fits no row space}}
  %r = hone.fused map (%a = %x : tensor<8x64xf32>) -> tensor<64x8xf32> {
    %t = hone.transpose %a [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
    hone.yield %t : tensor<64x8xf32>
  }
  return %r : tensor<64x8xf32>
}

// -----

// Within one kernel, a sum over rows is not complete.
func.func @sum_read_inside(%x: tensor<8x64xf32>) -> tensor<64xf32> {
  // expected-error@+1 {{has family row but fits no row space}}
  %r = hone.fused row (%a = %x : tensor<8x64xf32>) -> tensor<64xf32> {
    %c = hone.reduce sum %a dims [0] : tensor<8x64xf32> -> tensor<64xf32>
    %e = hone.exp %c : tensor<64xf32>
    hone.yield %e : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// -----

func.func @written_by_every_row(%x: tensor<8x64xf32>, %v: tensor<64xf32>) -> (tensor<8xf32>, tensor<64xf32>) {
  // expected-error@+1 {{yields value 1, which every row would write, expected one that a single row makes}}
  %r:2 = hone.fused row (%a = %x : tensor<8x64xf32>, %b = %v : tensor<64xf32>) -> (tensor<8xf32>, tensor<64xf32>) {
    %e = hone.exp %b : tensor<64xf32>
    %w = hone.broadcast %e dims [1] : tensor<64xf32> -> tensor<8x64xf32>
    %m = hone.mul %a, %w : tensor<8x64xf32>
    %s = hone.reduce sum %m dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    hone.yield %s, %e : tensor<8xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<64xf32>
}

// -----

func.func @two_products(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error@+1 {{holds 2 ops of its family contraction, expected 1}}
  %r = hone.fused contraction (%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %p = hone.dot_general %a, %a batch [] x [] contract [1] x [0]
        : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %q = hone.dot_general %p, %a batch [] x [] contract [1] x [0]
        : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %q : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// -----

func.func @no_scatter(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error@+1 {{holds 0 ops of its family gather, expected 1}}
  %r = hone.fused gather (%a = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %t = hone.tanh %a : tensor<8x64xf32>
    hone.yield %t : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

func.func @alone(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error@+1 {{is in no group, expected a view or the return here}}
  %t = hone.tanh %x : tensor<8x64xf32>
  return %t : tensor<8x64xf32>
}

// -----

func.func @slice_read_by_product(%x: tensor<8x64xf32>, %w: tensor<16x32xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{is in no group, but something that takes no strides reads it}}
  %s = hone.slice %x [0, 0] to [8, 32] by [1, 1] : tensor<8x64xf32> -> tensor<8x32xf32>
  %r = hone.fused contraction (%a = %s : tensor<8x32xf32>, %b = %w : tensor<16x32xf32>) -> tensor<8x16xf32> {
    %t = hone.dot_general %a, %b batch [] x [] contract [1] x [1]
        : tensor<8x32xf32>, tensor<16x32xf32> -> tensor<8x16xf32>
    hone.yield %t : tensor<8x16xf32>
  }
  return %r : tensor<8x16xf32>
}

// -----

func.func @concat_of_products(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x64xf32> {
  %r = hone.fused contraction (%a = %x : tensor<8x64xf32>, %b = %w : tensor<32x64xf32>) -> tensor<8x32xf32> {
    %t = hone.dot_general %a, %b batch [] x [] contract [1] x [1]
        : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  // expected-error@+1 {{is in no group, but has an operand made by something that takes no strides}}
  %c = hone.concat %r, %r dim 1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}

// -----

func.func @updates_that_differ(%a: tensor<7xf32>, %b: tensor<8xf32>, %s: tensor<f32>)
    -> (tensor<7xf32>, tensor<8xf32>) {
  // expected-error@+1 {{holds updates that differ in more than shapes}}
  %0:2 = hone.fused multi_tensor (%x = %a : tensor<7xf32>, %y = %b : tensor<8xf32>, %l = %s : tensor<f32>)
      -> (tensor<7xf32>, tensor<8xf32>) {
    %m = hone.sgd %x, %x lr %l weight_decay %l grad_scale %l
        : (tensor<7xf32>, tensor<7xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<7xf32>
    %n = hone.sgd %y, %y lr %l weight_decay %l grad_scale %l {maximize}
        : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
    hone.yield %m, %n : tensor<7xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<7xf32>, tensor<8xf32>
}
