// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-join-pads))' | FileCheck %s

// CHECK-LABEL: func.func @two_parts
// CHECK-SAME: (%[[A:.*]]: tensor<8x64xf32>, %[[B:.*]]: tensor<8x32xf32>)
// CHECK: %[[ALL:.*]] = hone.concat %[[A]], %[[B]] dim 1
// CHECK: return %[[ALL]]
func.func @two_parts(%a: tensor<8x64xf32>, %b: tensor<8x32xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [0, 32] interior [0, 0] : tensor<8x64xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 64] high [0, 0] interior [0, 0] : tensor<8x32xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// Any order, any tree.
// CHECK-LABEL: func.func @four_parts
// CHECK-SAME: (%[[A:.*]]: tensor<2x8xf32>, %[[B:.*]]: tensor<3x8xf32>, %[[C:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<5x8xf32>)
// CHECK: hone.concat %[[A]], %[[B]], %[[C]], %[[D]] dim 0
// CHECK-NOT: hone.add
func.func @four_parts(%a: tensor<2x8xf32>, %b: tensor<3x8xf32>, %c: tensor<4x8xf32>, %d: tensor<5x8xf32>)
    -> tensor<14x8xf32> {
  %p = hone.pad %c low [5, 0] high [5, 0] interior [0, 0] : tensor<4x8xf32> -> tensor<14x8xf32>
  %q = hone.pad %a low [0, 0] high [12, 0] interior [0, 0] : tensor<2x8xf32> -> tensor<14x8xf32>
  %r = hone.pad %d low [9, 0] high [0, 0] interior [0, 0] : tensor<5x8xf32> -> tensor<14x8xf32>
  %s = hone.pad %b low [2, 0] high [9, 0] interior [0, 0] : tensor<3x8xf32> -> tensor<14x8xf32>
  %t = hone.add %p, %q : tensor<14x8xf32>
  %u = hone.add %r, %s : tensor<14x8xf32>
  %v = hone.add %u, %t : tensor<14x8xf32>
  return %v : tensor<14x8xf32>
}
