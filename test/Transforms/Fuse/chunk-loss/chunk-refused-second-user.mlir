// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4 report=1}))' \
// RUN:   -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @logits_returned
// CHECK-NOT:   hone.slice
// CHECK:       hone.cross_entropy mean
func.func @logits_returned(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>)
    -> (tensor<f32>, tensor<10x7xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: the logits have another reader, 'func.return'}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  return %loss, %logits : tensor<f32>, tensor<10x7xf32>
}

// Before the bias they are parts of them too.
// CHECK-LABEL: func.func @product_read_before_bias
// CHECK-NOT:   hone.slice
// CHECK:       hone.cross_entropy mean
func.func @product_read_before_bias(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %b: tensor<7xf32>, %t: tensor<10xi64>)
    -> (tensor<f32>, tensor<10xi64>) {
  %product = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  %bias = hone.broadcast %b dims [1] : tensor<7xf32> -> tensor<10x7xf32>
  %logits = hone.add %product, %bias : tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: the logits have another reader, 'hone.argmax'}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %best = hone.argmax %product dim 1 : tensor<10x7xf32> -> tensor<10xi64>
  return %loss, %best : tensor<f32>, tensor<10xi64>
}

// CHECK-LABEL: func.func @gradient_returned
// CHECK-NOT:   hone.slice
// CHECK:       hone.cross_entropy_bwd mean
func.func @gradient_returned(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<10x7xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  // expected-remark @below {{the loss stays whole: the gradient of the logits is read by 'func.return'}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  return %loss, %d : tensor<f32>, tensor<10x7xf32>
}
