// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) {
  // CHECK: hone.fused map (%[[A:.+]] = %{{.+}} : tensor<8x64xf32>, %[[B:.+]] = %{{.+}} : tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: %[[S:.+]] = hone.add %[[A]], %[[B]] : tensor<8x64xf32>
  // CHECK-NEXT: hone.yield %[[S]] : tensor<8x64xf32>
  %y = hone.fused map (%a = %x : tensor<8x64xf32>, %b = %z : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.add %a, %b : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  return
}

// CHECK-LABEL: @two_results
func.func @two_results(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  // CHECK: %[[Y:.+]]:2 = hone.fused row (%{{.+}} = %{{.+}} : tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>)
  // CHECK-SAME: attributes {name = "sum_and_exp"}
  %s, %e = hone.fused row (%a = %x : tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>)
      attributes {name = "sum_and_exp"} {
    %0 = hone.exp %a : tensor<8x64xf32>
    %1 = hone.reduce sum %0 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    hone.yield %1, %0 : tensor<8xf32>, tensor<8x64xf32>
  }
  // CHECK: return %[[Y]]#0, %[[Y]]#1
  return %s, %e : tensor<8xf32>, tensor<8x64xf32>
}

// CHECK-LABEL: @no_operand
func.func @no_operand() -> tensor<4xi64> {
  // CHECK: hone.fused map () -> tensor<4xi64>
  %y = hone.fused map () -> tensor<4xi64> {
    %i = hone.iota dim 0 : tensor<4xi64>
    hone.yield %i : tensor<4xi64>
  }
  return %y : tensor<4xi64>
}

// CHECK-LABEL: @codes
func.func @codes(%x: tensor<32x64xbf16>) {
  // CHECK: hone.fused data_movement ({{.+}}) -> (tensor<32x64xf8E4M3FN>, tensor<1x32xf32>)
  %c, %s = hone.fused data_movement (%a = %x : tensor<32x64xbf16>) -> (tensor<32x64xf8E4M3FN>, tensor<1x32xf32>) {
    %d, %t = hone.quantize %a tile [1, 128] : tensor<32x64xbf16> -> tensor<32x64xf8E4M3FN>, tensor<1x32xf32>
    hone.yield %d, %t : tensor<32x64xf8E4M3FN>, tensor<1x32xf32>
  }
  return
}
