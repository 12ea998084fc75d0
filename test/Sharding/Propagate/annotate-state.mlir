// State that has not its parameter's shape: scales of codes are divided in whole blocks of 256 codes, and codes as they are; means of
// rows and columns as the dimensions that they keep.
// RUN: hone-opt %s --split-input-file --dist-annotate=mesh=fs=2 | FileCheck %s

// Rows of two blocks, that 2 does not divide in number: a block each.
// CHECK-LABEL: @blocks
// CHECK-SAME: tensor<15x512xf32> {dist.regather, dist.sharding = #dist.sharding<{}, {"fs"} p3>
// CHECK-SAME: tensor<15x512xi8> {dist.sharding = #dist.sharding<{}, {"fs"} p3>, hone.fqn = "exp_avg.w"
// CHECK-SAME: tensor<15x2xf32> {dist.sharding = #dist.sharding<{}, {"fs"} p3>, hone.fqn = "exp_avg_scale.w"
func.func @blocks(%w: tensor<15x512xf32> {hone.fqn = "w", hone.kind = "param"},
                  %m: tensor<15x512xi8> {hone.fqn = "exp_avg.w", hone.kind = "opt"},
                  %s: tensor<15x2xf32> {hone.fqn = "exp_avg_scale.w", hone.kind = "opt"},
                  %t: tensor<8x16xi64> {hone.fqn = "tokens", hone.kind = "input"}) {
  return
}

// -----

// Half a row is no whole number of blocks: codes are whole.
// CHECK-LABEL: @part_of_a_block
// CHECK-SAME: tensor<15x768xf32> {dist.regather, dist.sharding = #dist.sharding<{}, {"fs"} p3>
// CHECK-SAME: tensor<15x768xi8> {dist.sharding = #dist.sharding<{}, {}>
// CHECK-SAME: tensor<15x3xf32> {dist.sharding = #dist.sharding<{}, {}>
func.func @part_of_a_block(%w: tensor<15x768xf32> {hone.fqn = "w", hone.kind = "param"},
                           %m: tensor<15x768xi8> {hone.fqn = "exp_avg.w", hone.kind = "opt"},
                           %s: tensor<15x3xf32> {hone.fqn = "exp_avg_scale.w", hone.kind = "opt"},
                           %t: tensor<8x16xi64> {hone.fqn = "tokens", hone.kind = "input"}) {
  return
}

// -----

// Of a square parameter the names tell means of rows from those of columns.
// CHECK-LABEL: @means
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<{"fs"} p3>, hone.fqn = "row_var.w"
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<{}>, hone.fqn = "col_var.w"
func.func @means(%w: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "param"},
                 %r: tensor<8xf32> {hone.fqn = "row_var.w", hone.kind = "opt"},
                 %c: tensor<8xf32> {hone.fqn = "col_var.w", hone.kind = "opt"},
                 %t: tensor<8x16xi64> {hone.fqn = "tokens", hone.kind = "input"}) {
  return
}
