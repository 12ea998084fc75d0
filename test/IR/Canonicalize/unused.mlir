// RUN: hone-opt %s --canonicalize | FileCheck %s

// Every op is pure: what nobody uses goes.
// CHECK-LABEL: @unused
// CHECK-NEXT: return
func.func @unused(%x: tensor<8x64xf32>, %key: tensor<3xi64>) {
  %0 = hone.random uniform(%key) salt 7 : tensor<3xi64> -> tensor<8x64xf32>
  %1 = hone.softmax %x : tensor<8x64xf32>
  %2, %rstd = hone.rms_norm %1 eps 1.0e-05 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  %3 = hone.fused map (%a = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    hone.yield %a : tensor<8x64xf32>
  }
  return
}
