// Images have classes, and no tokens.
// RUN: hone-opt %s --hone-build-generate --verify-diagnostics

// expected-error @below {{has no input of role tokens, expected a language model}}
func.func @evaluate(%x: tensor<2x4xf32> {hone.kind = "input", hone.fqn = "x"},
                    %y: tensor<2xi64> {hone.kind = "input", hone.fqn = "y"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %loss, %z = hone.cross_entropy mean %x, %y ignore_index -100 label_smoothing 0.0
      : tensor<2x4xf32>, tensor<2xi64> -> tensor<f32>, tensor<2xf32>
  return %loss : tensor<f32>
}
