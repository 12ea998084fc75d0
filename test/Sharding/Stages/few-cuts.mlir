// RUN: hone-opt %s --verify-diagnostics --dist-assign-stages=stages=4 -o /dev/null

module attributes {hone.target = "cpu znver4"} {
  // A bias of positions that each layer reads (T5) crosses every place.
  // expected-error @below {{can be cut at 2 of its values, expected at least 3 for 4 stages: a stage hands one value to the next}}
  func.func @forward(
      %t: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "t"}, %w: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "w"},
      %ids: tensor<4xi64> {hone.kind = "input", hone.fqn = "ids"},
      %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-note @below {{this value is read by the last of the ops that cannot be cut apart}}
    %bias = hone.embedding %t, %ids : tensor<4x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
    %0 = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %1 = hone.add %0, %bias : tensor<4x8xf32>
    %2 = hone.dot_general %1, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %3 = hone.add %2, %bias : tensor<4x8xf32>
    %loss = hone.reduce sum %3 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}

