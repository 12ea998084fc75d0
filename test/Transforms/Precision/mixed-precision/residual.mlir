// What joins the f32 stream keeps its accumulator; what something else reads does not.
// RUN: hone-opt %s --hone-mixed-precision=policy=bf16 --canonicalize --hone-verify-precision | FileCheck %s
// RUN: hone-opt %s --hone-mixed-precision="policy=bf16 stream=low" --canonicalize --hone-verify-precision \
// RUN:   | FileCheck %s --check-prefix=LOW

// CHECK-LABEL: @forward
// LOW-LABEL: @forward
func.func @forward(
    %w: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %b: tensor<4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad},
    %g: tensor<4xf32> {hone.kind = "param", hone.fqn = "g", hone.requires_grad},
    %x: tensor<2x3x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // The bias follows the contraction: f32 here, where the sum goes into the stream.
  // CHECK: %[[Y:.+]] = hone.dot_general {{.*}} -> tensor<2x3x4xf32>
  // CHECK: %[[B:.+]] = hone.broadcast %arg1 dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[YB:.+]] = hone.add %[[Y]], %[[B]] : tensor<2x3x4xf32>
  // CHECK: %[[R:.+]] = hone.add %arg3, %[[YB]] : tensor<2x3x4xf32>
  // LOW: hone.dot_general {{.*}} -> tensor<2x3x4xbf16>
  // LOW: hone.add %{{.*}} : tensor<2x3x4xbf16>
  // LOW: %[[R:.+]] = hone.add %{{.*}} : tensor<2x3x4xbf16>
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0]
      : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  %bb = hone.broadcast %b dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  %yb = hone.add %y, %bb : tensor<2x3x4xf32>
  %r = hone.add %x, %yb : tensor<2x3x4xf32>
  // A norm computes in f32 and hands a bf16 value to the next contraction.
  // CHECK: %[[N:.+]], %{{.+}} = hone.rms_norm %[[R]] scale %arg2
  // CHECK-SAME: (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  // CHECK: %[[NL:.+]] = hone.cast %[[N]] : tensor<2x3x4xf32> -> tensor<2x3x4xbf16>
  // LOW: %[[W:.+]] = hone.cast %[[R]] : tensor<2x3x4xbf16> -> tensor<2x3x4xf32>
  // LOW: hone.rms_norm %[[W]] scale %arg2
  %n, %rstd = hone.rms_norm %r scale %g eps 1.0e-05
      : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  // CHECK: %[[Z:.+]] = hone.dot_general %[[NL]], %{{.+}} -> tensor<2x3x4xbf16>
  %z = hone.dot_general %n, %w batch [] x [] contract [2] x [0]
      : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  // A pointwise op follows its activations; a parameter makes it f32.
  // CHECK: %[[T:.+]] = hone.tanh %[[Z]] : tensor<2x3x4xbf16>
  %t = hone.tanh %z : tensor<2x3x4xf32>
  %gb = hone.broadcast %g dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[TW:.+]] = hone.cast %[[T]] : tensor<2x3x4xbf16> -> tensor<2x3x4xf32>
  // CHECK: hone.mul %[[TW]], %{{.+}} : tensor<2x3x4xf32>
  // LOW: hone.mul %{{.+}}, %{{.+}} : tensor<2x3x4xbf16>
  %scaled = hone.mul %t, %gb : tensor<2x3x4xf32>
  // The contraction has a second reader: rounded, and widened for the sum.
  // CHECK: %[[U:.+]] = hone.dot_general %{{.+}} -> tensor<2x3x4xbf16>
  %u = hone.dot_general %scaled, %w batch [] x [] contract [2] x [0]
      : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[UW:.+]] = hone.cast %[[U]] : tensor<2x3x4xbf16> -> tensor<2x3x4xf32>
  // CHECK-DAG: hone.add %[[R]], %[[UW]] : tensor<2x3x4xf32>
  // CHECK-DAG: hone.abs %[[U]] : tensor<2x3x4xbf16>
  %r2 = hone.add %r, %u : tensor<2x3x4xf32>
  %abs = hone.abs %u : tensor<2x3x4xf32>
  // Between f32 and bf16 activations: f32.
  // CHECK: hone.mul %{{.+}}, %{{.+}} : tensor<2x3x4xf32>
  // LOW: hone.mul %{{.+}}, %{{.+}} : tensor<2x3x4xbf16>
  %m = hone.mul %abs, %r2 : tensor<2x3x4xf32>
  // CHECK: hone.reduce sum %{{.+}} : tensor<2x3x4xf32> -> tensor<f32>
  // LOW: hone.reduce sum %{{.+}} : tensor<2x3x4xf32> -> tensor<f32>
  %loss = hone.reduce sum %m dims [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
