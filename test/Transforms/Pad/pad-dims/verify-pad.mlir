// What may not follow the pad phase.
// RUN: hone-opt %s --hone-verify-pad --verify-diagnostics --split-input-file

func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d", hone.parts = [#hone.part<"d", offset = [0, 0], shape = [6, 8]>]}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = hone.exp %p : tensor<4x8xf32>
  // expected-error@+1 {{sees padding after the first 6 elements of dimension 1 of operand 0, expected a mask}}
  %y = hone.dot_general %e, %d batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A mask that is too wide.
func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %i = hone.iota dim 1 : tensor<4x8xi32>
  %n = hone.constant dense<7> : tensor<4x8xi32>
  %in = hone.cmp lt, %i, %n : tensor<4x8xi32> -> tensor<4x8xi1>
  %z = hone.constant dense<0.0> : tensor<4x8xf32>
  %m = hone.select %in, %p, %z : tensor<4x8xi1>, tensor<4x8xf32>
  // expected-error@+1 {{sees padding after the first 6 elements of dimension 1 of operand 0, expected a mask}}
  %loss = hone.reduce sum %m dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // expected-error@+1 {{sees padding after the first 6 elements of rows, expected this width}}
  %loss, %lse = hone.cross_entropy mean %p, %t ignore_index -100 label_smoothing 0.0 : tensor<4x8xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // expected-error@+1 {{sees padding after the first 6 elements: it is an op whose width reaches into the padding}}
  %loss, %lse = hone.cross_entropy mean %p, %t ignore_index -100 label_smoothing 0.0 width 7 : tensor<4x8xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // expected-error@+1 {{sees padding after the first 6 elements: it is an op that is not differentiable at the padding}}
  %l = hone.log %p : tensor<4x8xf32>
  %loss = hone.reduce sum %l dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@+1 {{'d' has 5 of 8 elements along dimension 0, but another argument has 6 along the same dimension}}
func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d", hone.parts = [#hone.part<"d", offset = [0, 0], shape = [5, 8]>]}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y = hone.dot_general %p, %d batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@+1 {{argument 1 holds 'u', which an earlier argument holds}}
func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 8]>]}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %loss = hone.reduce sum %x dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A pad around one contraction, instead of a padded parameter.
func.func @forward(%u: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "u"}, %d: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "d"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %c = hone.slice %d [0, 0] to [8, 6] by [1, 1] : tensor<8x8xf32> -> tensor<8x6xf32>
  %w = hone.pad %c low [0, 0] high [0, 10] interior [0, 0] : tensor<8x6xf32> -> tensor<8x16xf32>
  // expected-error@+1 {{stands between a pad from 6 to 16 and a slice back, expected a padded parameter}}
  %y = hone.dot_general %p, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %r = hone.reshape %y : tensor<4x16xf32> -> tensor<2x2x16xf32>
  %s = hone.slice %r [0, 0, 0] to [2, 2, 6] by [1, 1, 1] : tensor<2x2x16xf32> -> tensor<2x2x6xf32>
  %loss = hone.reduce sum %s dims [0, 1, 2] : tensor<2x2x6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@+1 {{has no function @forward of one block}}
module {}
