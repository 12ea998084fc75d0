// RUN: not hone-opt %s --hone-plan-memory 2>&1 | FileCheck %s

// CHECK: error: has none of the functions @step, @accumulate, @update and @evaluate
func.func @forward(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"})
    -> (tensor<8x64xf32> {hone.kind = "loss"}) {
  return %w : tensor<8x64xf32>
}
