// RUN: hone-opt %s --split-input-file --hone-mixed-precision=policy=bf16 --hone-verify-precision | FileCheck %s

// A constraint takes the type of what it stands behind, and asks for no cast of its own.

dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @forward
// CHECK: %[[H:.+]] = hone.dot_general {{.+}} -> tensor<8x6xbf16>
// CHECK: %[[K:.+]] = dist.constrain %[[H]] to <{}, {"tp"}> : tensor<8x6xbf16>
// CHECK: hone.dot_general %[[K]],
func.func @forward(%x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}, %u: tensor<4x6xf32> {hone.kind = "param", hone.fqn = "u"},
                   %v: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "v"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %h = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %k = dist.constrain %h to <{}, {"tp"}> : tensor<8x6xf32>
  %y = hone.dot_general %k, %v batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  %l = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Of an f32 value that a contraction reads, the one cast stands above.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @forward
// CHECK: %[[L:.+]] = hone.cast %{{.+}} : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK: %[[K:.+]] = dist.constrain %[[L]] to <{"tp"}, {}> : tensor<8x4xbf16>
// CHECK: hone.dot_general %[[K]],
func.func @forward(%x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}, %g: tensor<4xf32> {hone.kind = "param", hone.fqn = "g"},
                   %v: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "v"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %n, %r = hone.rms_norm %x scale %g eps 1.0e-5 : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
  %k = dist.constrain %n to <{"tp"}, {}> : tensor<8x4xf32>
  %y = hone.dot_general %k, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %l = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
