// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// Sums that are added to others before they are rounded.
// CHECK-LABEL: @sums
func.func @sums(%q: tensor<2x16x4x64xbf16>, %k: tensor<2x16x2x64xbf16>, %l: tensor<2x4x16xf32>) {
  // CHECK: -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
  %a, %b, %c = hone.attention_bwd %q, %q, %k, %k, %q, %l scale 1.0
      : (tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>,
      tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
  return
}

// CHECK-LABEL: @example
func.func @example(
    %do: tensor<2x16x4x64xf32>, %q: tensor<2x16x4x64xf32>, %k: tensor<2x16x2x64xf32>,
    %v: tensor<2x16x2x64xf32>, %o: tensor<2x16x4x64xf32>, %lse: tensor<2x4x16xf32>) {
  // CHECK: hone.attention_bwd %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} causal scale 1.250000e-01
  // CHECK-SAME: : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>,
  // CHECK-SAME: tensor<2x16x4x64xf32>, tensor<2x4x16xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>,
  // CHECK-SAME: tensor<2x16x2x64xf32>)
  %dq, %dk, %dv = hone.attention_bwd %do, %q, %k, %v, %o, %lse causal scale 0.125
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>,
        tensor<2x16x4x64xf32>, tensor<2x4x16xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>,
        tensor<2x16x2x64xf32>)
  return
}

// CHECK-LABEL: @dropout
func.func @dropout(
    %do: tensor<1x3x1x8xf32>, %q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>,
    %o: tensor<1x3x1x8xf32>, %lse: tensor<1x1x3xf32>, %key: tensor<3xi64>) {
  // CHECK: hone.attention_bwd %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} rng %{{.+}} scale 1.250000e-01 dropout 2.500000e-01 salt 2
  // CHECK-SAME: : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>,
  // CHECK-SAME: tensor<1x3x1x8xf32>, tensor<1x1x3xf32>, tensor<3xi64>) -> (tensor<1x3x1x8xf32>,
  // CHECK-SAME: tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>)
  %dq, %dk, %dv = hone.attention_bwd %do, %q, %k, %v, %o, %lse rng %key scale 0.125 dropout 2.5e-01 salt 2
      : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>,
      tensor<1x3x1x8xf32>, tensor<1x1x3xf32>, tensor<3xi64>) -> (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>,
      tensor<1x3x1x8xf32>)
  return
}
