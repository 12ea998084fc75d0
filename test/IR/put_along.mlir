// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%u: tensor<32x2xf32>, %ids: tensor<32x2xi64>) {
  // CHECK: hone.put_along sum %{{.+}}, %{{.+}} dim 1 : tensor<32x2xf32>, tensor<32x2xi64> -> tensor<32x8xf32>
  %y = hone.put_along sum %u, %ids dim 1 : tensor<32x2xf32>, tensor<32x2xi64> -> tensor<32x8xf32>
  return
}
