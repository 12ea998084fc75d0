// RUN: hone-opt %s --hone-build-step="optimizer=adafactor" --verify-diagnostics

module {
  // expected-error@+1 {{parameter 'w' is padded or packed, but adafactor takes means over the parameters of files}}
  func.func @gradient(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                         hone.parts = [#hone.part<"w", offset = [0], shape = [5]>]})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<8xf32> {hone.kind = "grad", hone.fqn = "w"}) {
    %loss = hone.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss, %w : tensor<f32>, tensor<8xf32>
  }
}
