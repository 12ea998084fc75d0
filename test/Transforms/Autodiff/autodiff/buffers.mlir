// RUN: hone-opt %s --hone-autodiff --hone-verify-gradient --canonicalize | FileCheck %s
// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step | FileCheck %s --check-prefix=STEP
// RUN: hone-opt %s --hone-autodiff="seed=0.5" --hone-build-step="micro-batches=2" --hone-verify-step \
// RUN:     | FileCheck %s --check-prefix=MICRO

// Training scales by the mean of its input, and moves the buffer there; evaluation scales by the buffer.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[MEAN:[a-z0-9]+]]: tensor<f32> {hone.fqn = "mean"
// CHECK-SAME: -> (tensor<f32> {hone.kind = "loss"}, tensor<8xf32> {hone.fqn = "w", hone.kind = "grad"}, tensor<f32> {hone.fqn = "mean", hone.kind = "buffer"})
// CHECK-NOT: hone.select_mode
// CHECK: %[[SUM:.+]] = hone.reduce sum
// CHECK: hone.broadcast %[[SUM]]
// CHECK: return %{{.+}}, %{{.+}}, %{{.+}} :
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: %[[MEAN:[a-z0-9]+]]: tensor<f32> {hone.fqn = "mean"
// CHECK-SAME: -> (tensor<f32> {hone.kind = "loss"})
// CHECK-NEXT: hone.broadcast %[[MEAN]]
// CHECK-NEXT: hone.mul
// CHECK-NEXT: hone.mul
// CHECK-NEXT: hone.reduce
// CHECK-NEXT: return

// STEP-LABEL: func.func @step(
// STEP-SAME: %[[MEAN:[a-z0-9]+]]: tensor<f32> {hone.fqn = "mean", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "buffer"}
// STEP-SAME: tensor<f32> {hone.donates = 3 : i64, hone.fqn = "mean", hone.kind = "buffer"}, tensor<f32> {hone.kind = "loss"}
// MICRO-LABEL: func.func @accumulate(
// MICRO-SAME: tensor<f32> {hone.donates = 1 : i64, hone.fqn = "mean", hone.kind = "buffer"})
// MICRO-LABEL: func.func @update(
// MICRO-NOT: "mean"

func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                      hone.init = {dist = "constant", value = 1.0 : f64}},
    %mean: tensor<f32> {hone.kind = "buffer", hone.fqn = "mean", hone.init = {dist = "constant", value = 0.0 : f64}},
    %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "buffer", hone.fqn = "mean"}) {
  %sum = hone.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>
  %new = hone.add %sum, %mean : tensor<f32>
  %scale = hone.select_mode training %sum evaluation %mean : tensor<f32>
  %all = hone.broadcast %scale dims [] : tensor<f32> -> tensor<8xf32>
  %scaled = hone.mul %x, %all : tensor<8xf32>
  %y = hone.mul %scaled, %w : tensor<8xf32>
  %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss, %new : tensor<f32>, tensor<f32>
}
