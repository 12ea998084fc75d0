// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%o: tensor<2x16x4x64xf32>, %lse: tensor<2x4x16xf32>, %o2: tensor<2x16x4x64xf32>,
                   %lse2: tensor<2x4x16xf32>) {
  // CHECK: hone.merge_attention %{{.+}}, %{{.+}} with %{{.+}}, %{{.+}} : tensor<2x16x4x64xf32>, tensor<2x4x16xf32>
  %m, %ml = hone.merge_attention %o, %lse with %o2, %lse2 : tensor<2x16x4x64xf32>, tensor<2x4x16xf32>
  return
}

// CHECK-LABEL: @double
func.func @double(%o: tensor<1x3x1x2xf64>, %lse: tensor<1x1x3xf64>) {
  // CHECK: hone.merge_attention %{{.+}}, %{{.+}} with %{{.+}}, %{{.+}} : tensor<1x3x1x2xf64>, tensor<1x1x3xf64>
  %m, %ml = hone.merge_attention %o, %lse with %o, %lse : tensor<1x3x1x2xf64>, tensor<1x1x3xf64>
  return
}
