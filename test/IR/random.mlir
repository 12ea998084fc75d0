// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%key: tensor<3xi64>, %o: tensor<i64>) {
  // CHECK: hone.random  uniform(%{{.+}}) salt 7 : tensor<3xi64> -> tensor<8x64xf32>
  // CHECK: hone.random  uniform(%{{.+}}) salt 7 origin %{{.+}} of [8, 64] : tensor<3xi64> -> tensor<4x16xf32>
  %r = hone.random uniform(%key) salt 7 : tensor<3xi64> -> tensor<8x64xf32>
  %s = hone.random uniform(%key) salt 7 origin %o of [8, 64] : tensor<3xi64> -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: @normal
func.func @normal(%key: tensor<3xi64>) {
  // CHECK: hone.random  normal(%{{.+}}) salt 0 : tensor<3xi64> -> tensor<8x64xbf16>
  %r = hone.random normal(%key) salt 0 : tensor<3xi64> -> tensor<8x64xbf16>
  return
}
