// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Token and position rows are picked inside the first norm; positions repeat along the batch.
// CHECK-LABEL: func.func @embed_norm
// CHECK: hone.fused row
// CHECK:   hone.embedding {{.*}} -> tensor<2x8x64xf32>
// CHECK:   hone.iota dim 1 : tensor<2x8xi64>
// CHECK:   hone.embedding {{.*}} -> tensor<2x8x64xf32>
// CHECK:   hone.add
// CHECK:   hone.dropout
// CHECK:   hone.reduce sum
// CHECK-NOT: hone.fused
// WHY: row kernel of 7 ops that moves 16536 bytes: {{.*}}; saves {{[0-9]+}} bytes and 6 of 7 launches
func.func @embed_norm(%wte: tensor<256x64xf32>, %wpe: tensor<16x64xf32>, %ids: tensor<2x8xi64>, %k: tensor<3xi64>)
    -> (tensor<2x8x64xf32>, tensor<2x8x64xf32>) {
  %t = hone.embedding %wte, %ids : tensor<256x64xf32>, tensor<2x8xi64> -> tensor<2x8x64xf32>
  %i = hone.iota dim 0 : tensor<8xi64>
  %p = hone.embedding %wpe, %i : tensor<16x64xf32>, tensor<8xi64> -> tensor<8x64xf32>
  %b = hone.broadcast %p dims [1, 2] : tensor<8x64xf32> -> tensor<2x8x64xf32>
  %a = hone.add %t, %b : tensor<2x8x64xf32>
  %x = hone.dropout %a, %k p 0.125 salt 1 : tensor<2x8x64xf32>, tensor<3xi64>
  %s = hone.reduce sum %x dims [2] : tensor<2x8x64xf32> -> tensor<2x8xf32>
  %r = hone.rsqrt %s : tensor<2x8xf32>
  %rb = hone.broadcast %r dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x64xf32>
  %h = hone.mul %x, %rb : tensor<2x8x64xf32>
  return %x, %h : tensor<2x8x64xf32>, tensor<2x8x64xf32>
}

// A gather that nothing joins has a kernel of its own.
// CHECK-LABEL: func.func @gather_alone
// CHECK: hone.fused gather
func.func @gather_alone(%wte: tensor<256x64xf32>, %ids: tensor<2x8xi64>) -> tensor<2x8x64xf32> {
  %t = hone.embedding %wte, %ids : tensor<256x64xf32>, tensor<2x8xi64> -> tensor<2x8x64xf32>
  return %t : tensor<2x8x64xf32>
}

// Rows that were picked by other numbers than positions are stored once and repeated.
// CHECK-LABEL: func.func @repeated_rows
// CHECK: hone.fused gather {{.*}} -> tensor<8x64xf32>
// CHECK: hone.fused map
func.func @repeated_rows(%wpe: tensor<16x64xf32>, %i: tensor<8xi64>, %x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %p = hone.embedding %wpe, %i : tensor<16x64xf32>, tensor<8xi64> -> tensor<8x64xf32>
  %b = hone.broadcast %p dims [1, 2] : tensor<8x64xf32> -> tensor<2x8x64xf32>
  %a = hone.add %x, %b : tensor<2x8x64xf32>
  return %a : tensor<2x8x64xf32>
}

// So are those of a longer count, behind a batch of one.
// CHECK-LABEL: func.func @first_positions
// CHECK: hone.fused map
// CHECK-NEXT:   hone.iota dim 1 : tensor<2x8xi64>
// CHECK-NEXT:   hone.embedding
// CHECK-NEXT:   hone.add
// CHECK-NOT: hone.fused
func.func @first_positions(%wpe: tensor<16x64xf32>, %x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %i = hone.iota dim 1 : tensor<1x12xi64>
  %s = hone.slice %i [0, 0] to [1, 8] by [1, 1] : tensor<1x12xi64> -> tensor<1x8xi64>
  %p = hone.embedding %wpe, %s : tensor<16x64xf32>, tensor<1x8xi64> -> tensor<1x8x64xf32>
  %r = hone.reshape %p : tensor<1x8x64xf32> -> tensor<8x64xf32>
  %b = hone.broadcast %r dims [1, 2] : tensor<8x64xf32> -> tensor<2x8x64xf32>
  %a = hone.add %x, %b : tensor<2x8x64xf32>
  return %a : tensor<2x8x64xf32>
}

// Positions that do not begin at 0 are stored.
// CHECK-LABEL: func.func @later_positions
// CHECK: hone.fused gather
func.func @later_positions(%wpe: tensor<16x64xf32>, %x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %i = hone.iota dim 0 : tensor<12xi64>
  %s = hone.slice %i [4] to [12] by [1] : tensor<12xi64> -> tensor<8xi64>
  %p = hone.embedding %wpe, %s : tensor<16x64xf32>, tensor<8xi64> -> tensor<8x64xf32>
  %b = hone.broadcast %p dims [1, 2] : tensor<8x64xf32> -> tensor<2x8x64xf32>
  %a = hone.add %x, %b : tensor<2x8x64xf32>
  return %a : tensor<2x8x64xf32>
}
