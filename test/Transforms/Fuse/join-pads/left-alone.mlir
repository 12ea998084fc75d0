// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-join-pads))' | FileCheck %s --implicit-check-not=hone.concat

// No concatenation can replace these sums.
// Columns 48 to 63 are in no part.
// CHECK-LABEL: func.func @gap_between
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @gap_between(%a: tensor<8x48xf32>, %b: tensor<8x32xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [0, 48] interior [0, 0] : tensor<8x48xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 64] high [0, 0] interior [0, 0] : tensor<8x32xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// CHECK-LABEL: func.func @gap_at_the_end
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @gap_at_the_end(%a: tensor<8x48xf32>, %b: tensor<8x32xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [0, 48] interior [0, 0] : tensor<8x48xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 48] high [0, 16] interior [0, 0] : tensor<8x32xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// Columns 48 to 63 are in both.
// CHECK-LABEL: func.func @overlap
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @overlap(%a: tensor<8x64xf32>, %b: tensor<8x48xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [0, 32] interior [0, 0] : tensor<8x64xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 48] high [0, 0] interior [0, 0] : tensor<8x48xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// Every other column.
// CHECK-LABEL: func.func @interior
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @interior(%a: tensor<8x48xf32>, %b: tensor<8x48xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [0, 1] interior [0, 1] : tensor<8x48xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 1] high [0, 0] interior [0, 1] : tensor<8x48xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// Parts are corners.
// CHECK-LABEL: func.func @two_dimensions
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @two_dimensions(%a: tensor<4x48xf32>, %b: tensor<4x48xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [4, 48] interior [0, 0] : tensor<4x48xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [4, 48] high [0, 0] interior [0, 0] : tensor<4x48xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// CHECK-LABEL: func.func @two_directions
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @two_directions(%a: tensor<4x96xf32>, %b: tensor<8x48xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [4, 0] interior [0, 0] : tensor<4x96xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 48] high [0, 0] interior [0, 0] : tensor<8x48xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}

// The padded part has another reader.
// CHECK-LABEL: func.func @read_twice
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @read_twice(%a: tensor<8x64xf32>, %b: tensor<8x32xf32>) -> (tensor<8x96xf32>, tensor<8x96xf32>) {
  %p = hone.pad %a low [0, 0] high [0, 32] interior [0, 0] : tensor<8x64xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 64] high [0, 0] interior [0, 0] : tensor<8x32xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s, %p : tensor<8x96xf32>, tensor<8x96xf32>
}

// Columns 24 to 47 are in both and 72 to 95 in none: the sizes alone add up.
// CHECK-LABEL: func.func @overlap_and_gap
// CHECK: hone.pad
// CHECK: hone.pad
// CHECK: hone.add
func.func @overlap_and_gap(%a: tensor<8x48xf32>, %b: tensor<8x48xf32>) -> tensor<8x96xf32> {
  %p = hone.pad %a low [0, 0] high [0, 48] interior [0, 0] : tensor<8x48xf32> -> tensor<8x96xf32>
  %q = hone.pad %b low [0, 24] high [0, 24] interior [0, 0] : tensor<8x48xf32> -> tensor<8x96xf32>
  %s = hone.add %p, %q : tensor<8x96xf32>
  return %s : tensor<8x96xf32>
}
