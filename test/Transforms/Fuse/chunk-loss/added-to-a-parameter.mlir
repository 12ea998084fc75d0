// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' | FileCheck %s

// A parameter is no sum of gradients: adding to it first would round the parts against the weight.
// CHECK-LABEL: func.func @added_to_a_parameter(
// CHECK:       %[[DW0:.*]] = hone.dot_general %{{.*}} contract [0] x [0]
// CHECK-NOT:   hone.add
// CHECK:       %[[DW1:.*]] = hone.dot_general %{{.*}} contract [0] x [0]
// CHECK-NEXT:  %[[DW:.*]] = hone.add %[[DW1]], %[[DW0]]
// CHECK:       hone.add %arg0, %[[DW]]
func.func @added_to_a_parameter(%w: tensor<7x3xf32> {hone.kind = "param", hone.fqn = "v"},
    %x: tensor<6x3xf32> {hone.kind = "input", hone.fqn = "x"},
    %t: tensor<6xi64> {hone.kind = "input", hone.fqn = "t2"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<7x3xf32>) {
  %g = hone.constant dense<0.5> : tensor<f32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<6x3xf32>, tensor<7x3xf32> -> tensor<6x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<6x7xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<6x7xf32>, tensor<6xi64>, tensor<6xf32>) -> tensor<6x7xf32>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0]
      : tensor<6x7xf32>, tensor<6x3xf32> -> tensor<7x3xf32>
  %sum = hone.add %w, %dw : tensor<7x3xf32>
  return %loss, %sum : tensor<f32>, tensor<7x3xf32>
}
