// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// A padded table, two biases packed into one, a scalar; results carry parts too.
// CHECK-LABEL: @parts
// CHECK-SAME: hone.parts = [#hone.part<"wte", offset = [0, 0], shape = [5, 3]>]
// CHECK-SAME: hone.parts = [#hone.part<"k", offset = [4], shape = [2]>, #hone.part<"q", offset = [0], shape = [4]>]
// CHECK-SAME: hone.parts = [#hone.part<"s", offset = [], shape = []>]
// CHECK-SAME: -> (tensor<8x4xf32> {hone.kind = "grad", hone.parts = [#hone.part<"wte", offset = [0, 0], shape = [5, 3]>]})
func.func @parts(
    %w: tensor<8x4xf32> {hone.kind = "param", hone.aliases = ["head"],
                         hone.parts = [#hone.part<"wte", offset = [0, 0], shape = [5, 3]>]},
    %b: tensor<8xf32> {hone.kind = "opt", hone.parts = [#hone.part<"k", offset = [4], shape = [2]>,
                                                         #hone.part<"q", offset = [0], shape = [4]>]},
    %s: tensor<f32> {hone.kind = "buffer", hone.parts = [#hone.part<"s", offset = [], shape = []>]})
    -> (tensor<8x4xf32> {hone.kind = "grad", hone.parts = [#hone.part<"wte", offset = [0, 0], shape = [5, 3]>]}) {
  return %w : tensor<8x4xf32>
}
