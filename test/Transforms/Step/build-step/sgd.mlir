// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=sgd lr=0.1" --hone-verify-step | FileCheck %s

// Without momentum SGD has no state.

// CHECK-LABEL: func.func @step(
// CHECK-NOT: hone.kind = "opt"
// CHECK: hone.sgd %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} grad_scale %{{[a-z0-9_]+}} apply %{{[a-z0-9_]+}} :

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
