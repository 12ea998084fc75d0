// The chunks compute what the whole does: in double up to the order of sums, in fp32 to its rounding errors.
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' -o %t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-13
// RUN: hone-run --compare %t %s --args 4 --rtol 1e-5 --atol 2e-6
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=1}))' -o %t.1
// RUN: hone-run --compare %t.1 %s --args 5 --f64 --rtol 1e-12 --atol 1e-13
// RUN: hone-opt %S/chunk-loop.mlir --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=3}))' -o %t.loop
// RUN: hone-run --compare %t.loop %S/chunk-loop.mlir --args 6 --f64 --rtol 1e-12 --atol 1e-13
// RUN: hone-opt %S/accumulate.mlir --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' -o %t.sum
// RUN: hone-run --compare %t.sum %S/accumulate.mlir --args 7 --f64 --rtol 1e-12 --atol 1e-13
// RUN: hone-opt %S/maps-between.mlir --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' -o %t.maps
// RUN: hone-run --compare %t.maps %S/maps-between.mlir --args 8 --f64 --rtol 1e-12 --atol 1e-13
// RUN: hone-opt %S/ignore-index-count.mlir -o %t.count \
// RUN:   --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))'
// RUN: hone-run --compare %t.count %S/ignore-index-count.mlir --args 9 --f64 --rtol 1e-12 --atol 1e-13
// RUN: hone-run --eval %t --entry all_ignored | FileCheck %s
// REQUIRES: hone-run

// Random targets are 0 to 3; 2 is ignored.
func.func @some_ignored(%x: tensor<10x3xf32>, %w: tensor<7x3xf32>, %t: tensor<10xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<10x3xf32>, tensor<7x3xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<10x3xf32>, tensor<7x3xf32> -> tensor<10x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index 2 label_smoothing 0.25
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index 2 label_smoothing 0.25
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<10x7xf32>, tensor<7x3xf32> -> tensor<10x3xf32>
  %dw = hone.dot_general %x, %d batch [] x [] contract [0] x [0]
      : tensor<10x3xf32>, tensor<10x7xf32> -> tensor<3x7xf32>
  %dwt = hone.transpose %dw [1, 0] : tensor<3x7xf32> -> tensor<7x3xf32>
  return %loss, %dx, %dwt : tensor<f32>, tensor<10x3xf32>, tensor<7x3xf32>
}

// A soft cap: the gradient reads the capped logits again.
func.func @capped(%x: tensor<2x5x3xf32>, %w: tensor<3x7xf32>, %t: tensor<2x5xi32>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<2x5x3xf32>, tensor<3x7xf32>) {
  %one = hone.constant dense<1.0> : tensor<2x5x7xf32>
  %product = hone.dot_general %x, %w batch [] x [] contract [2] x [0]
      : tensor<2x5x3xf32>, tensor<3x7xf32> -> tensor<2x5x7xf32>
  %logits = hone.tanh %product : tensor<2x5x7xf32>
  %loss, %lse = hone.cross_entropy sum %logits, %t ignore_index 2 label_smoothing 0.0
      : tensor<2x5x7xf32>, tensor<2x5xi32> -> tensor<f32>, tensor<2x5xf32>
  %d = hone.cross_entropy_bwd sum %g, %logits, %t, %lse ignore_index 2 label_smoothing 0.0
      : (tensor<f32>, tensor<2x5x7xf32>, tensor<2x5xi32>, tensor<2x5xf32>) -> tensor<2x5x7xf32>
  %square = hone.mul %logits, %logits : tensor<2x5x7xf32>
  %slope = hone.sub %one, %square : tensor<2x5x7xf32>
  %dp = hone.mul %d, %slope : tensor<2x5x7xf32>
  %dx = hone.dot_general %dp, %w batch [] x [] contract [2] x [1]
      : tensor<2x5x7xf32>, tensor<3x7xf32> -> tensor<2x5x3xf32>
  %dw = hone.dot_general %x, %dp batch [] x [] contract [0, 1] x [0, 1]
      : tensor<2x5x3xf32>, tensor<2x5x7xf32> -> tensor<3x7xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<2x5x3xf32>, tensor<3x7xf32>
}

// No target counts: the mean is 0 / 0 as before, the gradient 0.
// CHECK: nan
// CHECK: 0
func.func @all_ignored() -> (tensor<f32>, tensor<6x3xf32>) {
  %x = hone.constant dense<0.5> : tensor<6x3xf32>
  %w = hone.constant dense<0.25> : tensor<7x3xf32>
  %t = hone.constant dense<2> : tensor<6xi64>
  %g = hone.constant dense<1.0> : tensor<f32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<6x3xf32>, tensor<7x3xf32> -> tensor<6x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index 2 label_smoothing 0.0
      : tensor<6x7xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index 2 label_smoothing 0.0
      : (tensor<f32>, tensor<6x7xf32>, tensor<6xi64>, tensor<6xf32>) -> tensor<6x7xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<6x7xf32>, tensor<7x3xf32> -> tensor<6x3xf32>
  return %loss, %dx : tensor<f32>, tensor<6x3xf32>
}
