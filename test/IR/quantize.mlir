// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<40x200xbf16>) {
  // CHECK: %{{.+}}, %{{.+}} = hone.quantize %{{.+}} tile [1, 128] : tensor<40x200xbf16>
  // CHECK-SAME: -> tensor<40x200xf8E4M3FN>, tensor<2x40xf32>
  %codes, %scales = hone.quantize %x tile [1, 128] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<2x40xf32>
  return
}

// CHECK-LABEL: @one_scale
func.func @one_scale(%x: tensor<8x64xbf16>) {
  // CHECK: %[[A:.+]] = hone.amax %{{.+}} : tensor<8x64xbf16>
  %a = hone.amax %x : tensor<8x64xbf16>
  // CHECK: hone.quantize %{{.+}} amax %[[A]] tile [0, 0] transposed : tensor<8x64xbf16>
  // CHECK-SAME: -> tensor<64x8xf8E5M2>, tensor<f32>
  %c, %s = hone.quantize %x amax %a tile [0, 0] transposed : tensor<8x64xbf16> -> tensor<64x8xf8E5M2>, tensor<f32>
  return
}

// CHECK-LABEL: @blocks
func.func @blocks(%x: tensor<300x1600xf32>) {
  // CHECK: tile [128, 128] : tensor<300x1600xf32> -> tensor<300x1600xf8E4M3FN>, tensor<3x16xf32>
  %c, %s = hone.quantize %x tile [128, 128] : tensor<300x1600xf32> -> tensor<300x1600xf8E4M3FN>, tensor<3x16xf32>
  return
}

// CHECK-LABEL: @mx
func.func @mx(%x: tensor<160x40xbf16>) {
  // CHECK: tile [1, 32] transposed : tensor<160x40xbf16> -> tensor<40x160xf8E4M3FN>, tensor<1024xi8>
  %c, %s = hone.quantize %x tile [1, 32] transposed : tensor<160x40xbf16> -> tensor<40x160xf8E4M3FN>, tensor<1024xi8>
  return
}
