// Values are named after the modules of the user's model, where locations know them, and after their ops.
// RUN: hone-opt %s | FileCheck %s

// CHECK: %blocks.0.mlp.up.neg = hone.neg
// CHECK: %blocks.0.mlp.up.abs = hone.abs
// CHECK: %bwd.blocks.0.mlp.neg = hone.neg
// CHECK: %exp = hone.exp
// CHECK: %log = hone.log
// CHECK: %cst = hone.constant
#line = loc("model.py":12:5)
#up = loc("blocks.0.mlp.up"(#line))
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hone.neg %x : tensor<4xf32> loc(#up)
  %1 = hone.abs %0 : tensor<4xf32> loc(#up)
  %2 = hone.neg %1 : tensor<4xf32> loc("bwd"("blocks.0.mlp"(#line)))
  %3 = hone.exp %2 : tensor<4xf32> loc(#line)
  %4 = hone.log %3 : tensor<4xf32>
  %5 = hone.constant dense<1.0> : tensor<4xf32> loc(#up)
  return %4 : tensor<4xf32>
}
