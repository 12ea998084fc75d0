// Muon takes each matrix as a whole: parameters of its groups are not packed, those of others are.
// RUN: hone-opt %s --hone-pack-projections=report --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t
// RUN: hone-opt %s --hone-pack-projections=optimizer=adamw | grep -q hone.parts
// RUN: sed 's/param_group = 1/param_group = 0/' %s | hone-opt --hone-pack-projections | grep -q hone.parts

module attributes {hone.optimizer = {name = "adamw", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
    {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "muon"}]}} {
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.requires_grad, hone.param_group = 1},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.requires_grad, hone.param_group = 1})
    -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-remark@+1 {{'p' is not packed: Muon takes each matrix as a whole}}
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  // expected-remark@+1 {{'q' is not packed: Muon takes each matrix as a whole}}
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}
}
