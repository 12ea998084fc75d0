// A part of a tensor with random numbers begins at a multiple of its size, which kernels rely on: runs between cuts are drawn one by
// one where they do, else the tensor is gathered.
// RUN: hone-opt %s --dist-propagate --dist-partition | FileCheck %s

// CHECK: func.func @halves
// CHECK: hone.dropout %{{.*}} origin %{{.*}} of [4, 24] : tensor<4x6xf32>
// CHECK: hone.dropout %{{.*}} origin %{{.*}} of [4, 24] : tensor<4x6xf32>
// CHECK: func.func @uneven
// CHECK: dist.all_gather
// CHECK: hone.dropout %{{[^ ]*}}, %{{[^ ]*}} p
// CHECK-SAME: : tensor<4x24xf32>
module {
  dist.mesh @mesh [<"a" = 2>]
  func.func @halves(%x: tensor<4x24xf32> {dist.sharding = #dist.sharding<{}, {"a" cuts [12]}>}, %k: tensor<3xi64>)
      -> tensor<4x24xf32> {
    %y = hone.dropout %x, %k p 5.000000e-01 salt 1 : tensor<4x24xf32>, tensor<3xi64>
    return %y : tensor<4x24xf32>
  }
  // The run of 3 that begins at 10.
  func.func @uneven(%x: tensor<4x24xf32> {dist.sharding = #dist.sharding<{}, {"a" cuts [10, 16]}>}, %k: tensor<3xi64>)
      -> tensor<4x24xf32> {
    %y = hone.dropout %x, %k p 5.000000e-01 salt 1 : tensor<4x24xf32>, tensor<3xi64>
    return %y : tensor<4x24xf32>
  }
}
