// RUN: not hone-opt %s --dist-assign-stages=stages=1 2>&1 | FileCheck %s
// CHECK: error: stages is 1, expected at least 2
module attributes {hone.target = "cpu znver4"} {
  func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
