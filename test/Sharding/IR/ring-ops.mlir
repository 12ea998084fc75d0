// Attention in a ring: text that prints as it was read.
// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

dist.mesh @mesh [<"cp" = 2>]

// CHECK-LABEL: func.func @ring
func.func @ring(%q: tensor<2x16x4x64xf32>, %k: tensor<2x16x2x64xf32>, %v: tensor<2x16x2x64xf32>,
                %do: tensor<2x16x4x64xf32>) {
  // CHECK: dist.ring_attention %{{.+}}, %{{.+}}, %{{.+}} over ["cp"] scale 1.250000e-01
  %o, %lse = dist.ring_attention %q, %k, %v over ["cp"] scale 0.125
      : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
  // CHECK: dist.ring_attention_bwd %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} over ["cp"] scale 1.250000e-01
  %dq, %dk, %dv = dist.ring_attention_bwd %do, %q, %k, %v, %o, %lse over ["cp"] scale 0.125
      : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>,
         tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
  return
}
