// RUN: hone-opt %s --hone-join-rotations --canonicalize --split-input-file | FileCheck %s

// Query and key lie side by side in the packed projection and turn by one table.
// CHECK-LABEL: func.func @query_and_key
// CHECK: %[[S:.*]] = hone.slice %arg0 [0, 0, 0] to [2, 16, 36]
// CHECK: %[[H:.*]] = hone.reshape %[[S]] : tensor<2x16x36xf32> -> tensor<2x16x6x6xf32>
// CHECK: %[[T:.*]] = hone.rope half %[[H]], %arg1, %arg2
// CHECK-NOT: hone.rope
// CHECK: %[[C:.*]] = hone.reshape %[[T]] : tensor<2x16x6x6xf32> -> tensor<2x16x36xf32>
// CHECK-DAG: hone.slice %[[C]] [0, 0, 0] to [2, 16, 24]
// CHECK-DAG: hone.slice %[[C]] [0, 0, 24] to [2, 16, 36]
func.func @query_and_key(%p: tensor<2x16x48xf32>, %c: tensor<16x3xf32>, %s: tensor<16x3xf32>,
    %v: tensor<2x16x2x6xf32>) -> tensor<2x16x4x6xf32> {
  %q0 = hone.slice %p [0, 0, 0] to [2, 16, 24] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x24xf32>
  %k0 = hone.slice %p [0, 0, 24] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x12xf32>
  %k1 = hone.reshape %k0 : tensor<2x16x12xf32> -> tensor<2x16x2x6xf32>
  %k = hone.rope half %k1, %c, %s : tensor<2x16x2x6xf32>, tensor<16x3xf32>
  %q1 = hone.reshape %q0 : tensor<2x16x24xf32> -> tensor<2x16x4x6xf32>
  %q = hone.rope half %q1, %c, %s : tensor<2x16x4x6xf32>, tensor<16x3xf32>
  %o, %lse = hone.attention %q, %k, %v causal scale 0.4
      : (tensor<2x16x4x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x2x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %o : tensor<2x16x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @other_table
// CHECK-COUNT-2: hone.rope
func.func @other_table(%p: tensor<2x16x36xf32>, %c: tensor<16x3xf32>, %s: tensor<16x3xf32>,
    %v: tensor<2x16x2x6xf32>) -> tensor<2x16x4x6xf32> {
  %q0 = hone.slice %p [0, 0, 0] to [2, 16, 24] by [1, 1, 1] : tensor<2x16x36xf32> -> tensor<2x16x24xf32>
  %k0 = hone.slice %p [0, 0, 24] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x36xf32> -> tensor<2x16x12xf32>
  %q1 = hone.reshape %q0 : tensor<2x16x24xf32> -> tensor<2x16x4x6xf32>
  %k1 = hone.reshape %k0 : tensor<2x16x12xf32> -> tensor<2x16x2x6xf32>
  %q = hone.rope half %q1, %c, %s : tensor<2x16x4x6xf32>, tensor<16x3xf32>
  %k = hone.rope half %k1, %s, %c : tensor<2x16x2x6xf32>, tensor<16x3xf32>
  %o, %lse = hone.attention %q, %k, %v causal scale 0.4
      : (tensor<2x16x4x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x2x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %o : tensor<2x16x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @gap_between
// CHECK-COUNT-2: hone.rope
func.func @gap_between(%p: tensor<2x16x48xf32>, %c: tensor<16x3xf32>, %s: tensor<16x3xf32>,
    %v: tensor<2x16x2x6xf32>) -> tensor<2x16x4x6xf32> {
  %q0 = hone.slice %p [0, 0, 0] to [2, 16, 24] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x24xf32>
  %k0 = hone.slice %p [0, 0, 36] to [2, 16, 48] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x12xf32>
  %q1 = hone.reshape %q0 : tensor<2x16x24xf32> -> tensor<2x16x4x6xf32>
  %k1 = hone.reshape %k0 : tensor<2x16x12xf32> -> tensor<2x16x2x6xf32>
  %q = hone.rope half %q1, %c, %s : tensor<2x16x4x6xf32>, tensor<16x3xf32>
  %k = hone.rope half %k1, %c, %s : tensor<2x16x2x6xf32>, tensor<16x3xf32>
  %o, %lse = hone.attention %q, %k, %v causal scale 0.4
      : (tensor<2x16x4x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x2x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %o : tensor<2x16x4x6xf32>
}

// -----

// The part is read unturned too.
// CHECK-LABEL: func.func @second_reader
// CHECK-COUNT-2: hone.rope
func.func @second_reader(%p: tensor<2x16x36xf32>, %c: tensor<16x3xf32>, %s: tensor<16x3xf32>)
    -> (tensor<2x16x4x6xf32>, tensor<2x16x12xf32>) {
  %q0 = hone.slice %p [0, 0, 0] to [2, 16, 24] by [1, 1, 1] : tensor<2x16x36xf32> -> tensor<2x16x24xf32>
  %k0 = hone.slice %p [0, 0, 24] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x36xf32> -> tensor<2x16x12xf32>
  %q1 = hone.reshape %q0 : tensor<2x16x24xf32> -> tensor<2x16x4x6xf32>
  %k1 = hone.reshape %k0 : tensor<2x16x12xf32> -> tensor<2x16x2x6xf32>
  %q = hone.rope half %q1, %c, %s : tensor<2x16x4x6xf32>, tensor<16x3xf32>
  %k = hone.rope half %k1, %c, %s : tensor<2x16x2x6xf32>, tensor<16x3xf32>
  %o, %lse = hone.attention %q, %k, %k causal scale 0.4
      : (tensor<2x16x4x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x2x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %o, %k0 : tensor<2x16x4x6xf32>, tensor<2x16x12xf32>
}
