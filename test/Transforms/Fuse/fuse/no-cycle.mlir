// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Tanh and mul fit one space, but exp, which cannot join them, lies on the other path.
// CHECK-LABEL: func.func @diamond
// WHY: (a path leaves the group and returns through hone.exp)
// CHECK: %[[ROWS:.*]]:2 = hone.fused row
// CHECK:   hone.tanh
// CHECK:   hone.reduce sum
// CHECK: %[[EXP:.*]] = hone.fused map
// CHECK:   hone.exp
// CHECK: hone.fused map ({{.*}} = %[[EXP]] : tensor<64xf32>, {{.*}} = %[[ROWS]]#0 : tensor<8x64xf32>)
// CHECK:   hone.mul
func.func @diamond(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %t = hone.tanh %x : tensor<8x64xf32>
  %c = hone.reduce sum %t dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %e = hone.exp %c : tensor<64xf32>
  %b = hone.broadcast %e dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %r = hone.mul %t, %b : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
