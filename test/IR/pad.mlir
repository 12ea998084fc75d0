// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.pad %{{.+}} low [0, 64] high [0, 64] interior [0, 0] : tensor<8x64xf32> -> tensor<8x192xf32>
  %y = hone.pad %x low [0, 64] high [0, 64] interior [0, 0] : tensor<8x64xf32> -> tensor<8x192xf32>
  return
}

// CHECK-LABEL: @interior
func.func @interior(%x: tensor<3xf32>) {
  // CHECK: hone.pad %{{.+}} low [1] high [0] interior [2] : tensor<3xf32> -> tensor<8xf32>
  %y = hone.pad %x low [1] high [0] interior [2] : tensor<3xf32> -> tensor<8xf32>
  return
}

// CHECK-LABEL: @empty_interior
func.func @empty_interior(%x: tensor<0xf32>) {
  // CHECK: hone.pad %{{.+}} low [1] high [1] interior [5] : tensor<0xf32> -> tensor<2xf32>
  %y = hone.pad %x low [1] high [1] interior [5] : tensor<0xf32> -> tensor<2xf32>
  return
}
