// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%q: tensor<1x1x4x64xf32>, %keys: tensor<1x16x2x64xf32>, %values: tensor<1x16x2x64xf32>,
                   %position: tensor<i64>) {
  // CHECK: hone.decode_attention %{{.+}}, %{{.+}}, %{{.+}} at %{{.+}} scale 1.250000e-01 : (tensor<1x1x4x64xf32>,
  // CHECK-SAME: tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>, tensor<i64>) -> tensor<1x1x4x64xf32>
  %o = hone.decode_attention %q, %keys, %values at %position scale 0.125
      : (tensor<1x1x4x64xf32>, tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>, tensor<i64>) -> tensor<1x1x4x64xf32>
  return
}

// CHECK-LABEL: @masked
func.func @masked(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x16x4x8xbf16>, %p: tensor<i64>, %m: tensor<1x4x3x16xf32>) {
  // CHECK: hone.decode_attention %{{.+}}, %{{.+}}, %{{.+}} at %{{.+}} mask %{{.+}} scale 1.000000e+00 :
  %o = hone.decode_attention %q, %k, %k at %p mask %m scale 1.0
      : (tensor<2x3x4x8xbf16>, tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>, tensor<i64>, tensor<1x4x3x16xf32>)
      -> tensor<2x3x4x8xbf16>
  return
}
