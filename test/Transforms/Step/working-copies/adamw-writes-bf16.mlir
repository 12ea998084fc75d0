// The update writes the weight's low copy, and no weight is cast in @accumulate.
// RUN: hone-opt %s --hone-pipeline="upto=step precision=bf16 micro-batches=2" \
// RUN:   | FileCheck %s --implicit-check-not="cast %arg0"
// RUN: hone-opt %s --hone-pipeline="upto=step precision=bf16" | FileCheck %s --check-prefix=STEP

module attributes {hone.version = 2 : i64} {
  func.func @forward(
      %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
          hone.init = {dist = "normal", mean = 0.0, std = 0.02}},
      %v: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "v", hone.init = {dist = "normal", mean = 0.0, std = 0.02}},
      %g: tensor<4xf32> {hone.kind = "param", hone.fqn = "g", hone.requires_grad,
          hone.init = {dist = "constant", value = 1.0}},
      %t: tensor<3x8xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 8})
      -> (tensor<f32> {hone.kind = "loss"}) {
    // The table is read by rows in f32 and as a matrix in bf16.
    %x = hone.embedding %w, %t : tensor<8x4xf32>, tensor<3x8xi64> -> tensor<3x8x4xf32>
    %n, %rstd = hone.rms_norm %x scale %g eps 1.0e-05
        : (tensor<3x8x4xf32>, tensor<4xf32>) -> (tensor<3x8x4xf32>, tensor<3x8xf32>)
    %m = hone.dot_general %n, %v batch [] x [] contract [2] x [0]
        : tensor<3x8x4xf32>, tensor<4x4xf32> -> tensor<3x8x4xf32>
    %l = hone.dot_general %m, %w batch [] x [] contract [2] x [1]
        : tensor<3x8x4xf32>, tensor<8x4xf32> -> tensor<3x8x8xf32>
    %loss, %lse = hone.cross_entropy mean %l, %t ignore_index -100 label_smoothing 0.0
        : tensor<3x8x8xf32>, tensor<3x8xi64> -> tensor<f32>, tensor<3x8xf32>
    return %loss : tensor<f32>
  }
}

// Evaluation reads the working copies too. The weight that is not trained has one, and the gain, which is read in f32, none.
// CHECK: func.func @evaluate(%arg0: tensor<8x4xf32>
// CHECK-SAME: tensor<4x4xbf16> {hone.fqn = "v", hone.kind = "working_copy"}
// CHECK-SAME: tensor<8x4xbf16> {hone.fqn = "w", hone.kind = "working_copy"}
// CHECK-SAME: -> (tensor<f32>
// CHECK: func.func @accumulate(%arg0: tensor<8x4xf32>
// CHECK-SAME: %[[V:arg[0-9]+]]: tensor<4x4xbf16> {hone.fqn = "v", hone.kind = "working_copy"}
// CHECK-SAME: %[[W:arg[0-9]+]]: tensor<8x4xbf16> {hone.fqn = "w", hone.kind = "working_copy"}
// CHECK: hone.embedding %arg0, %{{.+}} : tensor<8x4xf32>
// CHECK: hone.dot_general %{{.+}}, %[[V]]
// CHECK: hone.dot_general %{{.+}}, %[[W]]
// CHECK: func.func @update(%arg0: tensor<8x4xf32>
// CHECK-SAME: tensor<8x4xbf16> {hone.fqn = "w", hone.kind = "working_copy"}) -> (
// CHECK-SAME: tensor<8x4xbf16> {hone.donates = [[INDEX:[0-9]+]] : i64, hone.fqn = "w", hone.kind = "working_copy"})
// CHECK: %{{.+}}, %{{.+}}, %{{.+}}, %[[NEW:.+]] = hone.adamw %arg0
// CHECK-SAME: -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xbf16>)
// CHECK: hone.adamw
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: return {{.*}}, %[[NEW]] :

// STEP: func.func @step(
// STEP-SAME: hone.kind = "working_copy"}) -> (
// STEP-SAME: tensor<8x4xbf16> {hone.donates = {{[0-9]+}} : i64, hone.fqn = "w", hone.kind = "working_copy"})
// STEP: %[[NEW:new_working_copy.*]] = hone.adamw %arg0
// STEP: return {{.*}}%[[NEW]] :
