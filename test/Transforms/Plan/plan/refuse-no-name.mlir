// RUN: not hone-opt %s --hone-plan-memory 2>&1 | FileCheck %s

// CHECK: error: argument 0 has no kind or no name
func.func @step(%w: tensor<8x64xf32> {hone.kind = "param"})
    -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
  return %w : tensor<8x64xf32>
}
