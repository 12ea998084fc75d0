// RUN: hone-opt %s --hone-widen-gradients --split-input-file | FileCheck %s

// A weight gradient is given in the type of its accumulator, behind a transpose too.
// CHECK-LABEL: @weight
func.func @weight(%g: tensor<8x3xbf16>, %x: tensor<8x5xbf16>) -> (tensor<3x5xf32>, tensor<5x3xf32>) {
  // CHECK: %[[A:.+]] = hone.dot_general %{{.+}}, %{{.+}} : tensor<8x3xbf16>, tensor<8x5xbf16> -> tensor<3x5xf32>
  %d = hone.dot_general %g, %x batch [] x [] contract [0] x [0] : tensor<8x3xbf16>, tensor<8x5xbf16> -> tensor<3x5xbf16>
  %r = hone.cast %d : tensor<3x5xbf16> -> tensor<3x5xf32>
  // CHECK: %[[B:.+]] = hone.dot_general %{{.+}}, %{{.+}} : tensor<8x3xbf16>, tensor<8x5xbf16> -> tensor<3x5xf32>
  // CHECK: %[[T:.+]] = hone.transpose %[[B]] [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %e = hone.dot_general %g, %x batch [] x [] contract [0] x [0] : tensor<8x3xbf16>, tensor<8x5xbf16> -> tensor<3x5xbf16>
  %t = hone.transpose %e [1, 0] : tensor<3x5xbf16> -> tensor<5x3xbf16>
  %s = hone.cast %t : tensor<5x3xbf16> -> tensor<5x3xf32>
  // CHECK: return %[[A]], %[[T]]
  return %r, %s : tensor<3x5xf32>, tensor<5x3xf32>
}

// -----

// Nor is the gradient of a bias rounded: its sum reads widened values. A sum and a norm take wide values as well.
// CHECK-LABEL: @sums
func.func @sums(%g: tensor<8x3xbf16>, %x: tensor<8x5xbf16>, %y: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<f32>) {
  // CHECK: %[[W:.+]] = hone.cast %arg0 : tensor<8x3xbf16> -> tensor<8x3xf32>
  // CHECK: %[[S:.+]] = hone.reduce sum %[[W]] dims [0] : tensor<8x3xf32> -> tensor<3xf32>
  %s = hone.reduce sum %g dims [0] : tensor<8x3xbf16> -> tensor<3xbf16>
  %r = hone.cast %s : tensor<3xbf16> -> tensor<3xf32>
  // CHECK: %[[D:.+]] = hone.dot_general {{.*}} -> tensor<3x5xf32>
  // CHECK: hone.add %[[D]], %arg2
  // CHECK: hone.global_norm %[[D]],
  %d = hone.dot_general %g, %x batch [] x [] contract [0] x [0] : tensor<8x3xbf16>, tensor<8x5xbf16> -> tensor<3x5xbf16>
  %c = hone.cast %d : tensor<3x5xbf16> -> tensor<3x5xf32>
  %a = hone.add %c, %y : tensor<3x5xf32>
  %n = hone.global_norm %c, %a : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<f32>
  return %r, %n : tensor<3xf32>, tensor<f32>
}

// -----

// Refused: a low reader beside the cast, a reader that widens by itself, a maximum, a cast that narrows.
// CHECK-LABEL: @refused
func.func @refused(%g: tensor<8x3xbf16>, %x: tensor<5x3xbf16>)
    -> (tensor<8x5xf32>, tensor<8x5xbf16>, tensor<8x5xf32>, tensor<3xf32>, tensor<8x5xbf16>) {
  // CHECK-COUNT-2: hone.dot_general {{.*}} -> tensor<8x5xbf16>
  %d = hone.dot_general %g, %x batch [] x [] contract [1] x [1] : tensor<8x3xbf16>, tensor<5x3xbf16> -> tensor<8x5xbf16>
  %c = hone.cast %d : tensor<8x5xbf16> -> tensor<8x5xf32>
  %e = hone.dot_general %g, %x batch [] x [] contract [1] x [1] : tensor<8x3xbf16>, tensor<5x3xbf16> -> tensor<8x5xbf16>
  %w = hone.cast %e : tensor<8x5xbf16> -> tensor<8x5xf32>
  %t = hone.tanh %w : tensor<8x5xf32>
  // CHECK: hone.reduce max {{.*}} -> tensor<3xbf16>
  %m = hone.reduce max %g dims [0] : tensor<8x3xbf16> -> tensor<3xbf16>
  %r = hone.cast %m : tensor<3xbf16> -> tensor<3xf32>
  // CHECK: hone.dot_general {{.*}} -> tensor<8x5xf32>
  // CHECK: hone.cast {{.*}} -> tensor<8x5xbf16>
  %f = hone.dot_general %g, %x batch [] x [] contract [1] x [1] : tensor<8x3xbf16>, tensor<5x3xbf16> -> tensor<8x5xf32>
  %n = hone.cast %f : tensor<8x5xf32> -> tensor<8x5xbf16>
  return %c, %d, %t, %r, %n : tensor<8x5xf32>, tensor<8x5xbf16>, tensor<8x5xf32>, tensor<3xf32>, tensor<8x5xbf16>
}
