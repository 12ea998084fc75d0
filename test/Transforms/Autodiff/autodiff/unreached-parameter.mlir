// RUN: hone-opt %s --hone-autodiff --verify-diagnostics | FileCheck %s

// A parameter beside the path to the loss is left as it is, with a warning: it has no gradient in PyTorch either.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %{{.+}}: tensor<4xf32> {hone.fqn = "x", hone.kind = "param", hone.requires_grad}
// CHECK-SAME: %{{.+}}: tensor<4xf32> {hone.fqn = "unused", hone.kind = "param"}
// CHECK-SAME: -> (tensor<f32> {hone.kind = "loss"}, tensor<4xf32> {hone.fqn = "x", hone.kind = "grad"})

// expected-warning@+1 {{no gradient of the loss reaches parameter 'unused': it is not trained}}
func.func @forward(%x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %u: tensor<4xf32> {hone.kind = "param", hone.fqn = "unused", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %s = hone.stop_gradient %u : tensor<4xf32>
  %y = hone.mul %x, %s : tensor<4xf32>
  %loss = hone.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
