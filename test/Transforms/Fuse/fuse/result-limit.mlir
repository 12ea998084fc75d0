// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A fifth result would be stored beside four others.
// CHECK-LABEL: func.func @five_results
// CHECK: hone.fused map
// CHECK: hone.fused map
// CHECK-NOT: hone.fused
// WHY-COUNT-2: (more than 4 results)
module attributes {hone.target = "cuda sm_90"} {
func.func @five_results(%x: tensor<8x64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %x : tensor<8x64xf32>
  %c = hone.neg %x : tensor<8x64xf32>
  %d = hone.logistic %x : tensor<8x64xf32>
  %e = hone.abs %x : tensor<8x64xf32>
  return %a, %b, %c, %d, %e
      : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}
}
