// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Rows of 393,216 bytes do not stay on chip: each statistic reads them again, and one kernel still moves least.
// CHECK-LABEL: func.func @wide_softmax
// CHECK: hone.fused row
// CHECK:   hone.reduce max
// CHECK:   hone.reduce sum
// CHECK:   hone.div
// CHECK-NOT: hone.fused
// WHY: row kernel of 5 ops that moves 12582912 bytes: {{.*}}, rows read 3 times, as they do not stay on chip; saves {{[0-9]+}} bytes and 4 of 5 launches
module attributes {hone.target = "cuda sm_90"} {
func.func @wide_softmax(%x: tensor<8x98304xf32>) -> tensor<8x98304xf32> {
  %m = hone.reduce max %x dims [1] : tensor<8x98304xf32> -> tensor<8xf32>
  %b = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x98304xf32>
  %s = hone.sub %x, %b : tensor<8x98304xf32>
  %e = hone.exp %s : tensor<8x98304xf32>
  %z = hone.reduce sum %e dims [1] : tensor<8x98304xf32> -> tensor<8xf32>
  %d = hone.broadcast %z dims [0] : tensor<8xf32> -> tensor<8x98304xf32>
  %r = hone.div %e, %d : tensor<8x98304xf32>
  return %r : tensor<8x98304xf32>
}
}
