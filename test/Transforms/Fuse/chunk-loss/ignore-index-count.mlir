// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' | FileCheck %s

// The targets that count are counted once, before the chunks, by ops like any other: no chunk waits for a number on the
// host. Each chunk's gradient takes its weight from it.

// CHECK-LABEL: func.func @mean(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<10xi64>, %[[G:[a-z0-9]+]]: tensor<f32>)
// CHECK:       %[[IGNORED:.*]] = hone.constant dense<-100> : tensor<10xi64>
// CHECK:       %[[VALID:.*]] = hone.cmp ne, %[[T]], %[[IGNORED]]
// CHECK:       %[[ONES:.*]] = hone.cast %[[VALID]] : tensor<10xi1> -> tensor<10xf32>
// CHECK:       %[[COUNT:.*]] = hone.reduce sum %[[ONES]] dims [0] : tensor<10xf32> -> tensor<f32>
// CHECK:       %[[WEIGHT:.*]] = hone.div %[[G]], %[[COUNT]]
// CHECK-COUNT-3: hone.cross_entropy_bwd sum %[[WEIGHT]]
// CHECK-NOT:   hone.cmp
// CHECK:       hone.div %{{.*}}, %[[COUNT]]
func.func @mean(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<10x3xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<10x7xf32>, tensor<7x3xf32> -> tensor<10x3xf32>
  return %loss, %dx : tensor<f32>, tensor<10x3xf32>
}

// Eight bits hold no 300: every row counts.
// CHECK-LABEL: func.func @nothing_to_ignore
// CHECK-NOT:   hone.cmp
// CHECK:       %[[COUNT:.*]] = hone.constant dense<6.000000e+00> : tensor<f32>
// CHECK:       hone.div %{{.*}}, %[[COUNT]]
func.func @nothing_to_ignore(%x: tensor<6x3xf32>, %w: tensor<7x3xf32>, %t: tensor<6xi8>) -> tensor<f32> {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<6x3xf32>, tensor<7x3xf32> -> tensor<6x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index 300 label_smoothing 0.0
      : tensor<6x7xf32>, tensor<6xi8> -> tensor<f32>, tensor<6xf32>
  return %loss : tensor<f32>
}

// A sum needs no count.
// CHECK-LABEL: func.func @sum
// CHECK-NOT:   hone.cmp
// CHECK-NOT:   hone.div
// CHECK:       return
func.func @sum(%x: tensor<6x3xf32>, %w: tensor<7x3xf32>, %t: tensor<6xi64>) -> tensor<f32> {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<6x3xf32>, tensor<7x3xf32> -> tensor<6x7xf32>
  %loss, %lse = hone.cross_entropy sum %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<6x7xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  return %loss : tensor<f32>
}
