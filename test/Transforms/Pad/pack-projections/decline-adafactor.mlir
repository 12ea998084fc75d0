// Adafactor takes means over each parameter, which a packed one would mix.
// RUN: hone-opt %s --hone-pack-projections=optimizer=sgd | grep -q hone.parts
// RUN: hone-opt %s --hone-pack-projections="optimizer=adafactor report" --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t

// expected-remark@+1 {{nothing is packed: Adafactor takes means over each parameter}}
module {
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.requires_grad},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.requires_grad})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}
}
