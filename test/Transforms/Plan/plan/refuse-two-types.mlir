// RUN: not hone-opt %s --hone-plan-memory 2>&1 | FileCheck %s

// CHECK: error: argument 'w' has type 'tensor<64x8xf32>', expected 'tensor<8x64xf32>' as in the functions before
func.func @step(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"})
    -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
  return %w : tensor<8x64xf32>
}
func.func @evaluate(%w: tensor<64x8xf32> {hone.kind = "param", hone.fqn = "w"})
    -> (tensor<64x8xf32> {hone.kind = "loss"}) {
  return %w : tensor<64x8xf32>
}
