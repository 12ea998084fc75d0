// What a user annotated in the model, completed after the step phase.
// RUN: hone-opt %s --dist-annotate | FileCheck %s
// RUN: hone-opt %s --hone-set-mesh-invariant --dist-annotate | FileCheck %s --check-prefix=EXACT
// RUN: hone-opt %s --dist-annotate --dist-propagate --dist-partition --dist-verify | FileCheck %s --check-prefix=PARTS
// RUN: not hone-opt %s --dist-annotate=mesh=dp=2 2>&1 | FileCheck %s --check-prefix=RECIPE

// RECIPE: error: 'dist.mesh' op says already how ranks divide the module, expected no recipe (--mesh, --recipe) besides
dist.mesh @mesh [<"dp" = 2>, <"tp" = 4>]

// The parameter's copy is what the function reads: it is divided as the user wants the parameter to be. Bias and second weight follow,
// open dimensions are closed, targets have the rows of the tokens. Gradients are terms along the axis of the batch.
// CHECK-LABEL: @accumulate
// CHECK-SAME: tensor<16x8xf32> {dist.regather, dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.fqn = "up"
// CHECK-SAME: tensor<16xf32> {dist.sharding = #dist.sharding<{"tp"} p1>, hone.fqn = "bias"
// CHECK-SAME: tensor<8x16xf32> {dist.sharding = #dist.sharding<{}, {"tp"} p1>, hone.fqn = "down"
// CHECK-SAME: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.fqn = "x"
// CHECK-SAME: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.fqn = "targets"
// CHECK-SAME: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {} partial sum ["dp"]>, hone.fqn = "up", hone.kind = "grad"
// CHECK-SAME: tensor<16x8xbf16> {dist.regather, dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.fqn = "up", hone.kind = "working_copy"
// CHECK-SAME: -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {} partial sum ["dp"]>, hone.donates = 5
// EXACT: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.fqn = "up", hone.kind = "grad"
// PARTS-LABEL: @accumulate
// PARTS-SAME: tensor<4x8xf32>
func.func @accumulate(%up: tensor<16x8xf32> {dist.regather, dist.sharding = #dist.sharding<{"tp", ?} p1, {?}>, hone.fqn = "up", hone.kind = "param"},
                      %bias: tensor<16xf32> {hone.fqn = "bias", hone.kind = "param"},
                      %down: tensor<8x16xf32> {hone.fqn = "down", hone.kind = "param"},
                      %x: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.fqn = "x", hone.kind = "input"},
                      %targets: tensor<32x8xf32> {hone.fqn = "targets", hone.kind = "input"},
                      %g: tensor<16x8xf32> {hone.fqn = "up", hone.kind = "grad"},
                      %low: tensor<16x8xbf16> {hone.fqn = "up", hone.kind = "working_copy"})
    -> (tensor<16x8xf32> {hone.donates = 5 : i64, hone.fqn = "up", hone.kind = "grad"}) {
  %wide = hone.cast %low : tensor<16x8xbf16> -> tensor<16x8xf32>
  %h = hone.dot_general %x, %wide batch [] x [] contract [1] x [1] : tensor<32x8xf32>, tensor<16x8xf32> -> tensor<32x16xf32>
  %row = hone.broadcast %bias dims [1] : tensor<16xf32> -> tensor<32x16xf32>
  %a = hone.add %h, %row : tensor<32x16xf32>
  %y = hone.dot_general %a, %down batch [] x [] contract [1] x [1] : tensor<32x16xf32>, tensor<8x16xf32> -> tensor<32x8xf32>
  %d = hone.sub %y, %targets : tensor<32x8xf32>
  %e = hone.dot_general %d, %down batch [] x [] contract [1] x [0] : tensor<32x8xf32>, tensor<8x16xf32> -> tensor<32x16xf32>
  %own = hone.dot_general %e, %x batch [] x [] contract [0] x [0] : tensor<32x16xf32>, tensor<32x8xf32> -> tensor<16x8xf32>
  %sum = hone.add %g, %own : tensor<16x8xf32>
  return %sum : tensor<16x8xf32>
}

// State is divided as its parameter, in dimensions of the same size; scalars, and what is smaller, are copies.
// CHECK-LABEL: @update
// CHECK-SAME: tensor<16x8xf32> {dist.regather, dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.fqn = "up", hone.kind = "param"
// CHECK-SAME: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.fqn = "m.up"
// CHECK-SAME: tensor<16x1xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.fqn = "scale.up"
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<{}>, hone.fqn = "col_var.up"
// CHECK-SAME: tensor<8x2xf32> {dist.sharding = #dist.sharding<{}, {}>, hone.fqn = "scale.down"
// CHECK-SAME: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {} partial sum ["dp"]>, hone.fqn = "up", hone.kind = "grad"
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<>, hone.fqn = "lr"
// CHECK-SAME: -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {}>, hone.donates = 1
// PARTS-LABEL: @update
// PARTS: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<4x8xf32>
func.func @update(%up: tensor<16x8xf32> {dist.regather, dist.sharding = #dist.sharding<{"tp", ?} p1, {?}>, hone.fqn = "up", hone.kind = "param"},
                  %m: tensor<16x8xf32> {hone.fqn = "m.up", hone.kind = "opt"},
                  %s: tensor<16x1xf32> {hone.fqn = "scale.up", hone.kind = "opt"},
                  %v: tensor<8xf32> {hone.fqn = "col_var.up", hone.kind = "opt"},
                  %t: tensor<8x2xf32> {hone.fqn = "scale.down", hone.kind = "opt"},
                  %g: tensor<16x8xf32> {hone.fqn = "up", hone.kind = "grad"},
                  %lr: tensor<f32> {hone.fqn = "lr", hone.kind = "scalar"})
    -> (tensor<16x8xf32> {hone.donates = 1 : i64, hone.fqn = "m.up", hone.kind = "opt"}) {
  %sum = hone.mul %m, %g : tensor<16x8xf32>
  return %sum : tensor<16x8xf32>
}
