// What dist-assign-stages and dist-split-stages refuse, and what the ops do.
// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-assign-stages=stages=2 -o /dev/null

// expected-error @below {{has no function @forward, which stages are cut from: it runs before hone-autodiff}}
module {
}

// -----

module attributes {hone.target = "cpu znver4"} {
  // expected-error @below {{has stages already, expected none}}
  func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %0 = dist.boundary %w from 0 to 1 : tensor<8xf32>
    %loss = hone.reduce sum %0 dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// expected-error @below {{has attribute dist.stages = 1 : i64, expected an integer from 2}}
module attributes {dist.stages = 1 : i64} {
}
