// RUN: not hone-opt %s --dist-lower-collectives --split-input-file 2>&1 | FileCheck %s
// CHECK: error: 'dist.all_gather' op is async, expected that only of blocks
dist.mesh @mesh [<"fs" = 2>, <"tp" = 3>]
func.func @gather(%x: tensor<6x4xf32>) -> tensor<6x8xf32> {
  %0 = dist.all_gather %x dim 1 over ["fs"] async : tensor<6x4xf32> -> tensor<6x8xf32>
  %1 = dist.wait %0 : tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}

// -----

// CHECK: error: 'dist.all_reduce' op is async and read by 'func.return', expected 'dist.wait'
dist.mesh @mesh [<"dp" = 2>]
func.func @f(%x: tensor<6xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>}) -> (tensor<6xf32>) {
  %s = dist.all_reduce sum %x over ["dp"] async : tensor<6xf32>
  return %s : tensor<6xf32>
}
