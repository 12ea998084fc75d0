// Parameters that meet activations outside of contractions are f32, and what they make is; a bias is not.
// RUN: hone-opt %s --hone-mixed-precision=policy=fp16 --canonicalize --hone-verify-precision | FileCheck %s
// RUN: hone-opt %s --hone-mixed-precision="policy=fp16 stream=low" --canonicalize --hone-verify-precision \
// RUN:   | FileCheck %s --check-prefix=LOW

// CHECK-LABEL: @forward
// LOW-LABEL: @forward
func.func @forward(
    %w: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %class: tensor<1x4xf32> {hone.kind = "param", hone.fqn = "class", hone.requires_grad},
    %position: tensor<3x4xf32> {hone.kind = "param", hone.fqn = "position", hone.requires_grad},
    %gain: tensor<4xf32> {hone.kind = "param", hone.fqn = "gain", hone.requires_grad},
    %b: tensor<4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad},
    %c: tensor<4xf32> {hone.kind = "param", hone.fqn = "c", hone.requires_grad},
    %x: tensor<2x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // A class token, position embeddings and a layer scale.
  // CHECK: %[[P:.+]] = hone.dot_general {{.*}} -> tensor<2x4xf16>
  // CHECK: %[[WIDE:.+]] = hone.cast %[[P]] : tensor<2x4xf16> -> tensor<2x4xf32>
  // CHECK: %[[ROWS:.+]] = hone.concat %arg1, %[[WIDE]] dim 0
  // CHECK: %[[X:.+]] = hone.add %[[ROWS]], %arg2 : tensor<3x4xf32>
  // LOW: hone.concat {{.*}} -> tensor<3x4xf16>
  // LOW: hone.add %{{.*}} : tensor<3x4xf16>
  %patches = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
      : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %rows = hone.concat %class, %patches dim 0 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %stream = hone.add %rows, %position : tensor<3x4xf32>
  // CHECK: %[[Y:.+]] = hone.dot_general {{.*}} -> tensor<3x4xf16>
  // CHECK: %[[YW:.+]] = hone.cast %[[Y]] : tensor<3x4xf16> -> tensor<3x4xf32>
  // CHECK: %[[G:.+]] = hone.broadcast %arg3 dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK: %[[S:.+]] = hone.mul %[[YW]], %[[G]] : tensor<3x4xf32>
  // CHECK: hone.add %[[X]], %[[S]] : tensor<3x4xf32>
  // LOW: hone.mul %{{.*}} : tensor<3x4xf16>
  %y = hone.dot_general %stream, %w batch [] x [] contract [1] x [0]
      : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %gains = hone.broadcast %gain dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %scaled = hone.mul %y, %gains : tensor<3x4xf32>
  %r = hone.add %stream, %scaled : tensor<3x4xf32>
  // Two biases, as an LSTM's gates have, and a constant: what they meet stays low.
  // CHECK: hone.dot_general {{.*}} -> tensor<3x4xf16>
  // CHECK: hone.add %{{.*}} : tensor<3x4xf16>
  // CHECK: hone.add %{{.*}} : tensor<3x4xf16>
  // CHECK: hone.mul %{{.*}} : tensor<3x4xf16>
  %z = hone.dot_general %r, %w batch [] x [] contract [1] x [0]
      : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %first = hone.broadcast %b dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %z1 = hone.add %z, %first : tensor<3x4xf32>
  %second = hone.broadcast %c dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %z2 = hone.add %z1, %second : tensor<3x4xf32>
  %half = hone.constant dense<0.5> : tensor<3x4xf32>
  %h = hone.mul %z2, %half : tensor<3x4xf32>
  // CHECK: hone.dot_general {{.*}} -> tensor<3x4xf16>
  // CHECK: hone.add %{{.*}} : tensor<3x4xf16>
  %u = hone.dot_general %h, %w batch [] x [] contract [1] x [0]
      : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %shifted = hone.add %u, %half : tensor<3x4xf32>
  %loss = hone.reduce sum %shifted dims [0, 1] : tensor<3x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
