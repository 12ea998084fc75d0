// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%scores: tensor<32x8xf32>) {
  // CHECK: hone.topk %{{.+}} dim 1 : tensor<32x8xf32> -> tensor<32x2xi64>
  %ids = hone.topk %scores dim 1 : tensor<32x8xf32> -> tensor<32x2xi64>
  return
}

// CHECK-LABEL: @smallest
func.func @smallest(%x: tensor<32x8xi64>) {
  // CHECK: hone.topk %{{.+}} dim 0 smallest : tensor<32x8xi64> -> tensor<32x8xi32>
  %ids = hone.topk %x dim 0 smallest : tensor<32x8xi64> -> tensor<32x8xi32>
  return
}
