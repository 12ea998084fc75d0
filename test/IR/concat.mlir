// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%a: tensor<8x64xf32>, %b: tensor<8x32xf32>) {
  // CHECK: hone.concat %{{.+}}, %{{.+}} dim 1 : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<8x96xf32>
  %y = hone.concat %a, %b dim 1 : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<8x96xf32>
  return
}

// CHECK-LABEL: @one_empty
func.func @one_empty(%a: tensor<2x3xi64>, %b: tensor<0x3xi64>) {
  // CHECK: hone.concat %{{.+}}, %{{.+}} dim 0 : (tensor<2x3xi64>, tensor<0x3xi64>) -> tensor<2x3xi64>
  %y = hone.concat %a, %b dim 0 : (tensor<2x3xi64>, tensor<0x3xi64>) -> tensor<2x3xi64>
  return
}
