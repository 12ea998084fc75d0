// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Of the pairs that save most, the first join costs the others: to take each centring with what it subtracts from leaves
// both sums alone. Sums and product together, and each rest alone, move a fifth less.
// CHECK-LABEL: func.func @two_weighted_sums
// CHECK: hone.fused row (%{{.*}} = %arg0 : tensor<8x64xf32>, %{{.*}} = %arg1 : tensor<8x64xf32>)
// CHECK:   hone.add
// CHECK:   hone.reduce sum
// CHECK:   hone.reduce sum
// CHECK:   hone.yield
// CHECK: hone.fused map
// CHECK:   hone.mul
// CHECK: hone.fused map
// CHECK:   hone.mul
// CHECK-NOT: hone.fused
// WHY: @two_weighted_sums: 3 groups; 1 of 1 regions of row ops at least cost, 1 of them distinct, the largest of 5 parts
// WHY: 2 values read once for all, 2 column sums; {{.*}}not joined: {{.*}} (a sum over rows is complete only after its kernel)
func.func @two_weighted_sums(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = hone.add %x, %y : tensor<8x64xf32>
  %s = hone.reduce sum %x dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %b = hone.broadcast %s dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %p = hone.mul %b, %a : tensor<8x64xf32>
  %t = hone.reduce sum %y dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %c = hone.broadcast %t dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %q = hone.mul %c, %x : tensor<8x64xf32>
  return %p, %q : tensor<8x64xf32>, tensor<8x64xf32>
}
