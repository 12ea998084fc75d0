// RUN: hone-opt %s --hone-build-step="optimizer=muon" --verify-diagnostics

module {
  // expected-error@+1 {{parameter 'w' is packed from 2, but muon takes each matrix as a whole}}
  func.func @gradient(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                           hone.parts = [#hone.part<"a", offset = [0, 0], shape = [4, 4]>,
                                                         #hone.part<"b", offset = [4, 0], shape = [4, 4]>]})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "w"}) {
    %loss = hone.reduce sum %w dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss, %w : tensor<f32>, tensor<8x4xf32>
  }
}
