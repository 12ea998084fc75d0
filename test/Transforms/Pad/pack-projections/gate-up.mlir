// RUN: hone-opt %s --hone-pack-projections | FileCheck %s

// Weights that are stored [in, out] lie side by side.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<64x72xf32> {
// CHECK-SAME: hone.parts = [#hone.part<"gate", offset = [0, 0], shape = [64, 40]>,
// CHECK-SAME: #hone.part<"up", offset = [0, 40], shape = [64, 32]>]
// CHECK: %[[P:.*]] = hone.dot_general {{.*}}, %[[W]] batch [] x [] contract [1] x [0] : {{.*}} -> tensor<8x72xf32>
// CHECK: %[[G:.*]] = hone.slice %[[P]] [0, 0] to [8, 40] by [1, 1]
// CHECK: %[[U:.*]] = hone.slice %[[P]] [0, 40] to [8, 72] by [1, 1]
// CHECK: hone.logistic %[[G]]
// CHECK: hone.tanh %[[U]]
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %g: tensor<64x40xf32> {hone.kind = "param", hone.fqn = "gate", hone.init = {dist = "constant", value = 0.0 : f64}},
    %u: tensor<64x32xf32> {hone.kind = "param", hone.fqn = "up", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %g batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x40xf32> -> tensor<8x40xf32>
  %b = hone.dot_general %x, %u batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  %c = hone.logistic %a : tensor<8x40xf32>
  %d = hone.tanh %b : tensor<8x32xf32>
  %m = hone.reduce sum %c dims [0, 1] : tensor<8x40xf32> -> tensor<f32>
  %n = hone.reduce sum %d dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  %l = hone.add %m, %n : tensor<f32>
  return %l : tensor<f32>
}
