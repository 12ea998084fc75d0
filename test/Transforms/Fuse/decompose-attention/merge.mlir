// What merges two attentions over parts of the keys computes attention over all of them, and so do its primitives. In
// double to 1e-12: sums of some ten terms in another order. In fp32 to 2e-5, as in values.mlir.
// RUN: split-file %s %t
// RUN: hone-opt %t/parts.mlir --hone-decompose-attention -o %t/lowered.mlir
// RUN: FileCheck %s --input-file=%t/lowered.mlir
// RUN: hone-run --compare %t/parts.mlir %t/whole.mlir --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t/lowered.mlir %t/whole.mlir --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t/lowered.mlir %t/whole.mlir --args 4 --rtol 2e-5 --atol 2e-5
// RUN: hone-opt %t/hidden.mlir --hone-decompose-attention -o %t/lowered-hidden.mlir
// RUN: hone-run --compare %t/lowered-hidden.mlir %t/hidden.mlir --args 2 --f64 --rtol 1e-12 --atol 1e-12
// REQUIRES: hone-run

// CHECK-NOT: hone.merge_attention

//--- whole.mlir
func.func @two(%q: tensor<2x9x6x8xf32>, %k: tensor<2x10x2x8xf32>, %v: tensor<2x10x2x5xf32>)
    -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>) {
  %o, %l = hone.attention %q, %k, %v scale 0.35
      : (tensor<2x9x6x8xf32>, tensor<2x10x2x8xf32>, tensor<2x10x2x5xf32>) -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>)
  return %o, %l : tensor<2x9x6x5xf32>, tensor<2x6x9xf32>
}

//--- parts.mlir
func.func @two(%q: tensor<2x9x6x8xf32>, %k: tensor<2x10x2x8xf32>, %v: tensor<2x10x2x5xf32>)
    -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>) {
  %k1 = hone.slice %k [0, 0, 0, 0] to [2, 7, 2, 8] by [1, 1, 1, 1] : tensor<2x10x2x8xf32> -> tensor<2x7x2x8xf32>
  %k2 = hone.slice %k [0, 7, 0, 0] to [2, 10, 2, 8] by [1, 1, 1, 1] : tensor<2x10x2x8xf32> -> tensor<2x3x2x8xf32>
  %v1 = hone.slice %v [0, 0, 0, 0] to [2, 7, 2, 5] by [1, 1, 1, 1] : tensor<2x10x2x5xf32> -> tensor<2x7x2x5xf32>
  %v2 = hone.slice %v [0, 7, 0, 0] to [2, 10, 2, 5] by [1, 1, 1, 1] : tensor<2x10x2x5xf32> -> tensor<2x3x2x5xf32>
  %o1, %l1 = hone.attention %q, %k1, %v1 scale 0.35
      : (tensor<2x9x6x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x5xf32>) -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>)
  %o2, %l2 = hone.attention %q, %k2, %v2 scale 0.35
      : (tensor<2x9x6x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x5xf32>) -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>)
  %o, %l = hone.merge_attention %o1, %l1 with %o2, %l2 : tensor<2x9x6x5xf32>, tensor<2x6x9xf32>
  return %o, %l : tensor<2x9x6x5xf32>, tensor<2x6x9xf32>
}

//--- hidden.mlir
// Of rows that see no key of one set, of the other, and of both.
func.func @hidden(%a: tensor<1x4x1x3xf32>, %b: tensor<1x4x1x3xf32>) -> (tensor<1x4x1x3xf32>, tensor<1x1x4xf32>) {
  %l = hone.constant dense<[[[0xFF800000, 0.5, 0x7F800000, 1.5]]]> : tensor<1x1x4xf32>
  %m = hone.constant dense<[[[0.25, 0x7F800000, 0xFF800000, 0.75]]]> : tensor<1x1x4xf32>
  %o, %n = hone.merge_attention %a, %l with %b, %m : tensor<1x4x1x3xf32>, tensor<1x1x4xf32>
  return %o, %n : tensor<1x4x1x3xf32>, tensor<1x1x4xf32>
}
