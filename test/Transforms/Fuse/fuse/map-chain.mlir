// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Nothing between the first and the last op of a chain is stored.
// CHECK-LABEL: func.func @map_chain
// CHECK: hone.fused map ({{.*}} = %arg0 : tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK-NOT: hone.fused
// WHY: map kernel of 4 ops that moves 4096 bytes: 3 values never stored{{.*}}; saves 12288 bytes and 3 of 4 launches{{$}}
func.func @map_chain(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.exp %a : tensor<8x64xf32>
  %c = hone.neg %b : tensor<8x64xf32>
  %d = hone.logistic %c : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
