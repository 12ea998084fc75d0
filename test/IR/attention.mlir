// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// Sums that are merged before they are rounded.
// CHECK-LABEL: @sums
func.func @sums(%q: tensor<2x16x4x64xbf16>, %k: tensor<2x16x2x64xbf16>) {
  // CHECK: -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  %o, %lse = hone.attention %q, %k, %k scale 0.125
      : (tensor<2x16x4x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// CHECK-LABEL: @example
func.func @example(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x2x64xf32>, %v: tensor<2x16x2x64xf32>,
                   %segments: tensor<2x16xi64>, %part: tensor<2x8x4x64xf32>, %first: tensor<2xi64>) {
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} causal scale 1.250000e-01 : (tensor<2x16x4x64xf32>,
  // CHECK-SAME: tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  %o, %lse = hone.attention %q, %k, %v causal scale 0.125
      : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>,
        tensor<2x4x16xf32>)
  // CHECK: hone.attention {{.+}} mask %{{.+}} causal scale 1.250000e-01 : (tensor<2x16x4x64xf32>,
  // CHECK-SAME: tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16xi64>) -> (tensor<2x16x4x64xf32>,
  %p, %l = hone.attention %q, %k, %v mask %segments causal scale 0.125
      : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  // CHECK: hone.attention {{.+}} mask %{{.+}} causal scale 1.250000e-01 : (tensor<2x8x4x64xf32>,
  // CHECK-SAME: tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2xi64>) -> (tensor<2x8x4x64xf32>,
  %some, %of = hone.attention %part, %k, %v mask %first causal scale 0.125
      : (tensor<2x8x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2xi64>)
      -> (tensor<2x8x4x64xf32>, tensor<2x4x8xf32>)
  return
}

// CHECK-LABEL: @everything
func.func @everything(
    %q: tensor<2x16x4x64xf32>, %k: tensor<2x24x2x64xf32>, %v: tensor<2x24x2x32xf32>,
    %m: tensor<1x4x16x24xf32>, %key: tensor<3xi64>) {
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} rng %{{.+}} causal scale 1.250000e-01 dropout 1.000000e-01 salt 5
  // CHECK-SAME: : (tensor<2x16x4x64xf32>, tensor<2x24x2x64xf32>, tensor<2x24x2x32xf32>, tensor<1x4x16x24xf32>,
  // CHECK-SAME: tensor<3xi64>) -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>)
  %o, %lse = hone.attention %q, %k, %v mask %m rng %key causal scale 0.125 dropout 1.0e-01 salt 5
      : (tensor<2x16x4x64xf32>, tensor<2x24x2x64xf32>, tensor<2x24x2x32xf32>, tensor<1x4x16x24xf32>,
      tensor<3xi64>) -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>)
  return
}

// CHECK-LABEL: @plain
func.func @plain(%q: tensor<1x1x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) {
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} scale 1.000000e+00 : (tensor<1x1x1x8xf32>,
  // CHECK-SAME: tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> (tensor<1x1x1x8xf32>, tensor<1x1x1xf32>)
  %o, %lse = hone.attention %q, %k, %v scale 1.0 : (tensor<1x1x1x8xf32>, tensor<1x3x1x8xf32>,
      tensor<1x3x1x8xf32>) -> (tensor<1x1x1x8xf32>, tensor<1x1x1xf32>)
  return
}

// CHECK-LABEL: @segments
func.func @segments(%q: tensor<2x16x4x64xf32>, %m: tensor<1x1x16x16xf32>, %ids: tensor<2x16xi64>, %key: tensor<3xi64>) {
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[IDS:.+]] causal scale 1.000000e+00 :
  %o, %l = hone.attention %q, %q, %q mask %ids causal scale 1.0
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16xi64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}}, %[[IDS]] rng %{{.+}} scale 1.000000e+00 dropout
  %p, %n = hone.attention %q, %q, %q mask %m, %ids rng %key scale 1.0 dropout 0.1
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<1x1x16x16xf32>, tensor<2x16xi64>,
         tensor<3xi64>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}

// Two runs of queries, with the ids and the dropout of all positions.
// CHECK-LABEL: @runs
func.func @runs(%q: tensor<2x8x4x64xf32>, %k: tensor<2x16x4x64xf32>, %first: tensor<2xi64>, %ids: tensor<2x16xi64>,
                %key: tensor<3xi64>, %o: tensor<i64>) {
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[FIRST:.+]] causal scale 1.000000e+00 :
  %r, %lse = hone.attention %q, %k, %k mask %first causal scale 1.0
      : (tensor<2x8x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2xi64>)
      -> (tensor<2x8x4x64xf32>, tensor<2x4x8xf32>)
  // CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}}, %[[FIRST]] rng %{{.+}}, %{{.+}} causal
  %s, %l = hone.attention %q, %k, %k mask %ids, %first rng %key, %o causal scale 1.0 dropout 0.1 of [2, 4, 16, 16]
      : (tensor<2x8x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16xi64>, tensor<2xi64>,
         tensor<3xi64>, tensor<i64>) -> (tensor<2x8x4x64xf32>, tensor<2x4x8xf32>)
  return
}

// Half of the batch, and of the heads.
// CHECK-LABEL: @part
func.func @part(%q: tensor<2x16x4x64xf32>, %key: tensor<3xi64>, %o: tensor<i64>) {
  // CHECK: hone.attention {{.+}} rng %{{.+}}, %{{.+}} scale 1.000000e+00 dropout 1.000000e-01 salt 5 of [4, 8, 16, 16] :
  %r, %lse = hone.attention %q, %q, %q rng %key, %o scale 1.0 dropout 1.0e-01 salt 5 of [4, 8, 16, 16]
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<3xi64>, tensor<i64>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  return
}
