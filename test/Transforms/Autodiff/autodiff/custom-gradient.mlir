// RUN: hone-opt %s --hone-verify-import --hone-autodiff --hone-verify-gradient --canonicalize | FileCheck %s

// The gradient of w is the body's, of the cotangents of both results: that of the second is 0. No gradient flows
// through the exponential.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8xf32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32> {hone.fqn = "x"
// CHECK-NOT: hone.custom_gradient
// CHECK: %[[Y:.+]] = hone.exp %[[W]]
// CHECK: %[[LOSS:.+]] = hone.mul %[[Y]], %[[X]]
// CHECK: %[[G:.+]] = hone.add %[[X]], %{{.+}} : tensor<8xf32>
// CHECK: %[[DW:.+]] = hone.mul %[[G]], %[[W]]
// CHECK: return %{{.+}}, %[[DW]]
// CHECK-LABEL: func.func @evaluate(
// CHECK-NEXT: hone.exp
// CHECK-NEXT: hone.mul
// CHECK-NEXT: hone.reduce
// CHECK-NEXT: return

func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}},
    %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.exp %w : tensor<8xf32>
  %n = hone.neg %w : tensor<8xf32>
  %y:2 = hone.custom_gradient values(%e, %n : tensor<8xf32>, tensor<8xf32>) inputs(%w : tensor<8xf32>)
      saved(%w : tensor<8xf32>) {
  ^bb0(%g: tensor<8xf32>, %h: tensor<8xf32>, %saved: tensor<8xf32>):
    %sum = hone.add %g, %h : tensor<8xf32>
    %r = hone.mul %sum, %saved : tensor<8xf32>
    hone.yield %r : tensor<8xf32>
  }
  %p = hone.mul %y#0, %x : tensor<8xf32>
  %loss = hone.reduce sum %p dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
