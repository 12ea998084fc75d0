// RUN: hone-opt %s --hone-raise --canonicalize | FileCheck %s

// A constraint inside the formula is of a value that the op would not have.

dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: func.func @forward(
// CHECK-NOT: hone.gelu
// CHECK: dist.constrain
// CHECK-NOT: hone.gelu
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = hone.constant dense<1.0> : tensor<4x8xf32>
  %half = hone.constant dense<0.5> : tensor<4x8xf32>
  %r = hone.constant dense<1.4142135> : tensor<4x8xf32>
  %u = hone.div %x, %r : tensor<4x8xf32>
  %t = hone.erf %u : tensor<4x8xf32>
  %c = dist.constrain %t to <{"tp"}, {}> : tensor<4x8xf32>
  %t1 = hone.add %c, %one : tensor<4x8xf32>
  %hx = hone.mul %x, %half : tensor<4x8xf32>
  %y = hone.mul %hx, %t1 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
