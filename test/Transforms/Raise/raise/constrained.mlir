// RUN: hone-opt %s --hone-raise --canonicalize | FileCheck %s
// RUN: hone-opt %s --hone-raise --canonicalize -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Constraints around what becomes one op stay where they are; those of both operands and of the result.

dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK: %[[C:.+]] = dist.constrain %[[X]] to <{}, {"tp"}> : tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.+]] = hone.gelu erf %[[C]]
// CHECK-NEXT: %[[D:.+]] = dist.constrain %[[Y]] to <{"tp"}, {}> : tensor<4x8xf32>
// CHECK-NEXT: return %[[D]]
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = dist.constrain %x to <{}, {"tp"}> : tensor<4x8xf32>
  %one = hone.constant dense<1.0> : tensor<4x8xf32>
  %half = hone.constant dense<0.5> : tensor<4x8xf32>
  %r = hone.constant dense<1.4142135> : tensor<4x8xf32>
  %u = hone.div %c, %r : tensor<4x8xf32>
  %t = hone.erf %u : tensor<4x8xf32>
  %t1 = hone.add %t, %one : tensor<4x8xf32>
  %hx = hone.mul %c, %half : tensor<4x8xf32>
  %y = hone.mul %hx, %t1 : tensor<4x8xf32>
  %d = dist.constrain %y to <{"tp"}, {}> : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}
