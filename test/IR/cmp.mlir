// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.cmp  lt, %{{.+}}, %{{.+}} : tensor<8x64xf32> -> tensor<8x64xi1>
  %m = hone.cmp lt, %x, %y : tensor<8x64xf32> -> tensor<8x64xi1>
  return
}

// CHECK-LABEL: @predicates
func.func @predicates(%x: tensor<8xi64>, %y: tensor<8xi64>) {
  // CHECK: hone.cmp  eq, %{{.+}}, %{{.+}} : tensor<8xi64> -> tensor<8xi1>
  %0 = hone.cmp eq, %x, %y : tensor<8xi64> -> tensor<8xi1>
  // CHECK: hone.cmp  ne, %{{.+}}, %{{.+}} : tensor<8xi64> -> tensor<8xi1>
  %1 = hone.cmp ne, %x, %y : tensor<8xi64> -> tensor<8xi1>
  // CHECK: hone.cmp  le, %{{.+}}, %{{.+}} : tensor<8xi64> -> tensor<8xi1>
  %2 = hone.cmp le, %x, %y : tensor<8xi64> -> tensor<8xi1>
  // CHECK: hone.cmp  gt, %{{.+}}, %{{.+}} : tensor<8xi64> -> tensor<8xi1>
  %3 = hone.cmp gt, %x, %y : tensor<8xi64> -> tensor<8xi1>
  // CHECK: hone.cmp  ge, %{{.+}}, %{{.+}} : tensor<8xi64> -> tensor<8xi1>
  %4 = hone.cmp ge, %x, %y : tensor<8xi64> -> tensor<8xi1>
  return
}
