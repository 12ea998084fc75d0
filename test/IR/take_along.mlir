// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<32x8xf32>, %ids: tensor<32x2xi64>) {
  // CHECK: hone.take_along %{{.+}}, %{{.+}} dim 1 : tensor<32x8xf32>, tensor<32x2xi64> -> tensor<32x2xf32>
  %y = hone.take_along %x, %ids dim 1 : tensor<32x8xf32>, tensor<32x2xi64> -> tensor<32x2xf32>
  return
}
