// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @whole_slice
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @whole_slice(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.slice %x [0, 0] to [8, 64] by [1, 1] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @part_stays
func.func @part_stays(%x: tensor<8xf32>) -> tensor<7xf32> {
  // CHECK: hone.slice
  %0 = hone.slice %x [1] to [8] by [1] : tensor<8xf32> -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// CHECK-LABEL: @no_padding
// CHECK-SAME: (%[[X:.+]]: tensor<1x64xf32>)
func.func @no_padding(%x: tensor<1x64xf32>) -> tensor<1x64xf32> {
  // One element has no gaps between neighbours.
  // CHECK-NEXT: return %[[X]]
  %0 = hone.pad %x low [0, 0] high [0, 0] interior [3, 0] : tensor<1x64xf32> -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// CHECK-LABEL: @padding_stays
func.func @padding_stays(%x: tensor<8xf32>) -> tensor<9xf32> {
  // CHECK: hone.pad
  %0 = hone.pad %x low [1] high [0] interior [0] : tensor<8xf32> -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// CHECK-LABEL: @one_operand
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @one_operand(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.concat %x dim 0 : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @two_operands_stay
func.func @two_operands_stay(%x: tensor<8xf32>) -> tensor<16xf32> {
  // CHECK: hone.concat
  %0 = hone.concat %x, %x dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
