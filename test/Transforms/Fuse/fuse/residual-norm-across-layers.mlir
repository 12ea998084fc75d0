// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The sum that ends one layer and the norm that begins the next: one kernel stores both.
// CHECK-LABEL: func.func @residual_norm
// CHECK: %[[BRANCH:.*]] = hone.fused contraction
// CHECK: %[[NORM:.*]]:2 = hone.fused row (%{{.*}} = %[[BRANCH]] : tensor<8x64xf32>, %{{.*}} = %arg0
// CHECK:   hone.dropout
// CHECK:   hone.add
// CHECK:   hone.rsqrt
// CHECK: hone.fused contraction (%{{.*}} = %[[NORM]]#1
// CHECK: return %{{.*}}, %[[NORM]]#0
// WHY: row kernel of 9 ops that moves 8216 bytes: 10 values never stored{{.*}}; saves {{[0-9]+}} bytes and 8 of 9 launches; not joined: hone.dot_general (a dropout lies between the product and the sum)
func.func @residual_norm(%x: tensor<8x64xf32>, %g: tensor<8x256xf32>, %w: tensor<64x256xf32>, %u: tensor<96x64xf32>,
    %k: tensor<3xi64>) -> (tensor<8x96xf32>, tensor<8x64xf32>) {
  %b = hone.dot_general %g, %w batch [] x [] contract [1] x [1]
      : tensor<8x256xf32>, tensor<64x256xf32> -> tensor<8x64xf32>
  %o = hone.dropout %b, %k p 0.125 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  %z = hone.add %x, %o : tensor<8x64xf32>
  %s = hone.reduce sum %z dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %c = hone.constant dense<64.0> : tensor<8xf32>
  %m = hone.div %s, %c : tensor<8xf32>
  %mb = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %d = hone.sub %z, %mb : tensor<8x64xf32>
  %q = hone.mul %d, %d : tensor<8x64xf32>
  %v = hone.reduce sum %q dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %r = hone.rsqrt %v : tensor<8xf32>
  %rb = hone.broadcast %r dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %h = hone.mul %d, %rb : tensor<8x64xf32>
  %p = hone.dot_general %h, %u batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<96x64xf32> -> tensor<8x96xf32>
  return %p, %z : tensor<8x96xf32>, tensor<8x64xf32>
}
