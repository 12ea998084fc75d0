// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4 report=1}))' \
// RUN:   -verify-diagnostics | FileCheck %s
// CHECK-NOT: hone.slice

func.func @one_chunk(%x: tensor<4x3xf32>, %w: tensor<7x3xf32>, %t: tensor<4xi64>) -> tensor<f32> {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<4x3xf32>, tensor<7x3xf32> -> tensor<4x7xf32>
  // expected-remark @below {{the loss stays whole: one chunk holds its 4 rows}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<4x7xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %loss : tensor<f32>
}

func.func @loss_per_row(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>) -> tensor<10xf32> {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: the loss is requested per row (reduction none)}}
  %loss, %lse = hone.cross_entropy none %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<10xf32>, tensor<10xf32>
  return %loss : tensor<10xf32>
}

func.func @narrow_loss(%x: tensor<10x3xbf16>, %w: tensor<7x3xbf16>, %t: tensor<10xi64>) -> tensor<bf16> {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xbf16>, tensor<7x3xbf16> -> tensor<10x7xbf16>
  // expected-remark @below {{the loss stays whole: the loss is narrower than f32}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xbf16>, tensor<10xi64> -> tensor<bf16>, tensor<10xf32>
  return %loss : tensor<bf16>
}

func.func @logits_of_no_contraction(%x: tensor<10x7xf32>, %t: tensor<10xi64>) -> tensor<f32> {
  %logits = hone.tanh %x : tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: the logits are not made by one contraction and elementwise ops}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  return %loss : tensor<f32>
}

func.func @batched_head(%x: tensor<2x5x3xf32>, %w: tensor<2x7x3xf32>, %t: tensor<2x5xi64>) -> tensor<f32> {
  %logits = hone.dot_general %x, %w batch [0] x [0] contract [2] x [2]
      : tensor<2x5x3xf32>, tensor<2x7x3xf32> -> tensor<2x5x7xf32>
  // expected-remark @below {{the loss stays whole: the contraction of the logits does not keep the rows first}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<2x5x7xf32>, tensor<2x5xi64> -> tensor<f32>, tensor<2x5xf32>
  return %loss : tensor<f32>
}

func.func @log_sum_exp_returned(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>)
    -> (tensor<f32>, tensor<10xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the log-sum-exp of the rows has another reader than the gradient of this loss}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  return %loss, %lse : tensor<f32>, tensor<10xf32>
}

// The loss weighs its own gradient: it must be whole before the first chunk's gradient can be made.
func.func @cotangent_of_the_loss(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>)
    -> (tensor<f32>, tensor<10x3xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: the cotangent of the loss depends on the loss or on the logits}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %square = hone.mul %loss, %loss : tensor<f32>
  %g = hone.add %loss, %loss : tensor<f32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<10x7xf32>, tensor<7x3xf32> -> tensor<10x3xf32>
  return %square, %dx : tensor<f32>, tensor<10x3xf32>
}

// The gradient of the weight goes into the gradient of the input: the first chunk would need it from the last.
func.func @weight_gradient_read_inside(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<10x3xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: an operand of the head depends on what the head computes}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0]
      : tensor<10x7xf32>, tensor<10x3xf32> -> tensor<7x3xf32>
  %moved = hone.sub %w, %dw : tensor<7x3xf32>
  %dx = hone.dot_general %d, %moved batch [] x [] contract [1] x [0]
      : tensor<10x7xf32>, tensor<7x3xf32> -> tensor<10x3xf32>
  return %loss, %dx : tensor<f32>, tensor<10x3xf32>
}

func.func @gradient_transposed(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<3x10xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the gradient of the logits neither keeps the rows first nor sums over them}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %dx = hone.dot_general %w, %d batch [] x [] contract [0] x [1]
      : tensor<7x3xf32>, tensor<10x7xf32> -> tensor<3x10xf32>
  return %loss, %dx : tensor<f32>, tensor<3x10xf32>
}

// Both operands would be made in parts, whose products with each other's are no parts of the whole.
func.func @gradient_times_logits(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<10x10xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: a contraction multiplies two values that have a row of classes per row}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %p = hone.dot_general %d, %logits batch [] x [] contract [1] x [1]
      : tensor<10x7xf32>, tensor<10x7xf32> -> tensor<10x10xf32>
  return %loss, %p : tensor<f32>, tensor<10x10xf32>
}
