// RUN: not hone-opt %s --hone-pack-projections 2>&1 | FileCheck %s

// The gradients would keep the parts' names and shapes.
// CHECK: error: has @gradient already: parameters are packed before hone-autodiff
module {
func.func @forward(%x: tensor<f32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %x : tensor<f32>
}
func.func @gradient(%x: tensor<f32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  return %x : tensor<f32>
}
}
