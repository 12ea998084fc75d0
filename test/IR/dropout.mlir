// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %key: tensor<3xi64>, %o: tensor<i64>) {
  // CHECK: hone.dropout %{{.+}}, %{{.+}} p 1.000000e-01 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  // CHECK: hone.dropout %{{.+}}, %{{.+}} p 1.000000e-01 salt 3 origin %{{.+}} of [8, 256] : tensor<8x64xf32>, tensor<3xi64>
  %y = hone.dropout %x, %key p 0.1 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  %z = hone.dropout %x, %key p 0.1 salt 3 origin %o of [8, 256] : tensor<8x64xf32>, tensor<3xi64>
  return
}
