// RUN: hone-opt %s --dist-lower-collectives | FileCheck %s

dist.mesh @mesh [<"fs" = 2>, <"tp" = 3>]

// Parts of the outermost dimension lie one after another as they are.
// CHECK-LABEL: @outermost
// CHECK-NEXT: dist.all_gather %{{.*}} dim 0 over ["fs"] : tensor<4x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT: dist.reduce_scatter sum %{{.*}} dim 1 over ["fs"] : tensor<1x8x6xf32> -> tensor<1x4x6xf32>
func.func @outermost(%x: tensor<4x6xf32>, %y: tensor<1x8x6xf32>) -> (tensor<8x6xf32>, tensor<1x4x6xf32>) {
  %0 = dist.all_gather %x dim 0 over ["fs"] : tensor<4x6xf32> -> tensor<8x6xf32>
  %1 = dist.reduce_scatter sum %y dim 1 over ["fs"] : tensor<1x8x6xf32> -> tensor<1x4x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<1x4x6xf32>
}

// CHECK-LABEL: @gather
// CHECK-NEXT: %[[ONE:.*]] = hone.reshape %{{.*}} : tensor<6x4xf32> -> tensor<1x6x4xf32>
// CHECK-NEXT: %[[ALL:.*]] = dist.all_gather %[[ONE]] dim 0 over ["fs"] : tensor<1x6x4xf32> -> tensor<2x6x4xf32>
// CHECK-NEXT: %[[ROWS:.*]] = hone.transpose %[[ALL]] [1, 0, 2] : tensor<2x6x4xf32> -> tensor<6x2x4xf32>
// CHECK-NEXT: hone.reshape %[[ROWS]] : tensor<6x2x4xf32> -> tensor<6x8xf32>
func.func @gather(%x: tensor<6x4xf32>) -> tensor<6x8xf32> {
  %0 = dist.all_gather %x dim 1 over ["fs"] : tensor<6x4xf32> -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// Segments of 2 and 4 columns: of each its blocks.
// CHECK-LABEL: @cuts
// CHECK: %[[ALL:.*]] = dist.all_gather %{{.*}} dim 0 over ["fs"] : tensor<1x5x3xf32> -> tensor<2x5x3xf32>
// CHECK: %[[A:.*]] = hone.slice %[[ALL]] [0, 0, 0] to [2, 5, 1]
// CHECK: %[[B:.*]] = hone.transpose %[[A]] [1, 0, 2] : tensor<2x5x1xf32> -> tensor<5x2x1xf32>
// CHECK: %[[C:.*]] = hone.reshape %[[B]] : tensor<5x2x1xf32> -> tensor<5x2xf32>
// CHECK: %[[D:.*]] = hone.slice %[[ALL]] [0, 0, 1] to [2, 5, 3]
// CHECK: %[[E:.*]] = hone.transpose %[[D]] [1, 0, 2] : tensor<2x5x2xf32> -> tensor<5x2x2xf32>
// CHECK: %[[F:.*]] = hone.reshape %[[E]] : tensor<5x2x2xf32> -> tensor<5x4xf32>
// CHECK: hone.concat %[[C]], %[[F]] dim 1
func.func @cuts(%x: tensor<5x3xf32>) -> tensor<5x6xf32> {
  %0 = dist.all_gather %x dim 1 over ["fs"] cuts [2] : tensor<5x3xf32> -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}

// CHECK-LABEL: @scatter
// CHECK: %[[ROWS:.*]] = hone.reshape %{{.*}} : tensor<6x8xf32> -> tensor<6x2x4xf32>
// CHECK: %[[BLOCKS:.*]] = hone.transpose %[[ROWS]] [1, 0, 2] : tensor<6x2x4xf32> -> tensor<2x6x4xf32>
// CHECK: %[[OWN:.*]] = dist.reduce_scatter sum %[[BLOCKS]] dim 0 over ["fs"] : tensor<2x6x4xf32> -> tensor<1x6x4xf32>
// CHECK: hone.reshape %[[OWN]] : tensor<1x6x4xf32> -> tensor<6x4xf32>
func.func @scatter(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %0 = dist.reduce_scatter sum %x dim 1 over ["fs"] : tensor<6x8xf32> -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// CHECK-LABEL: @exchange
// CHECK: dist.all_to_all %{{.*}} from 1 to 0 over ["tp"] : tensor<3x1x4x2x5xf32> -> tensor<1x3x4x2x5xf32>
func.func @exchange(%x: tensor<4x6x5xf32>) -> tensor<12x2x5xf32> {
  %0 = dist.all_to_all %x from 0 to 1 over ["tp"] : tensor<4x6x5xf32> -> tensor<12x2x5xf32>
  return %0 : tensor<12x2x5xf32>
}

// Equal distances are fine for what nobody sends.
// CHECK-LABEL: @shard
// CHECK-NEXT: dist.shard %{{.*}} dim 1 over ["tp"] : tensor<4x6xf32> -> tensor<4x2xf32>
// CHECK: %[[A:.*]] = dist.shard %{{.*}} dim 1 over ["tp"] : tensor<4x3xf32> -> tensor<4x1xf32>
// CHECK: %[[B:.*]] = dist.shard %{{.*}} dim 1 over ["tp"] : tensor<4x6xf32> -> tensor<4x2xf32>
// CHECK: hone.concat %[[A]], %[[B]] dim 1
func.func @shard(%x: tensor<4x6xf32>, %y: tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
  %0 = dist.shard %x dim 1 over ["tp"] : tensor<4x6xf32> -> tensor<4x2xf32>
  %1 = dist.shard %y dim 1 over ["tp"] cuts [3] : tensor<4x9xf32> -> tensor<4x3xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x3xf32>
}

// Ranks have the runs of the second segment in reverse order.
// CHECK-LABEL: @snake
// CHECK: %[[ALL:.*]] = dist.all_gather %{{.*}} dim 0 over ["tp"] : tensor<1x4xf32> -> tensor<3x4xf32>
// CHECK: %[[A:.*]] = hone.slice %[[ALL]] [0, 0] to [3, 2]
// CHECK: %[[B:.*]] = hone.reshape %[[A]] : tensor<3x2xf32> -> tensor<6xf32>
// CHECK: %[[C:.*]] = hone.slice %[[ALL]] [0, 2] to [3, 4]
// CHECK: %[[LAST:.*]] = hone.slice %[[C]] [2, 0] to [3, 2]
// CHECK: %[[NEXT:.*]] = hone.slice %[[C]] [1, 0] to [2, 2]
// CHECK: %[[FIRST:.*]] = hone.slice %[[C]] [0, 0] to [1, 2]
// CHECK: %[[D:.*]] = hone.concat %[[LAST]], %[[NEXT]], %[[FIRST]] dim 0
// CHECK: %[[E:.*]] = hone.reshape %[[D]] : tensor<3x2xf32> -> tensor<6xf32>
// CHECK: hone.concat %[[B]], %[[E]] dim 0
func.func @snake(%x: tensor<4xf32>) -> tensor<12xf32> {
  %0 = dist.all_gather %x dim 0 over ["tp"] cuts [6] snake : tensor<4xf32> -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: @snake_shard
// CHECK: %[[A:.*]] = hone.slice %{{.*}} [0] to [6]
// CHECK: %[[OWN:.*]] = dist.shard %[[A]] dim 0 over ["tp"] : tensor<6xf32> -> tensor<2xf32>
// CHECK: %[[B:.*]] = hone.slice %{{.*}} [6] to [12]
// CHECK: %[[C:.*]] = hone.concat {{.*}} dim 0 : {{.*}} -> tensor<3x2xf32>
// CHECK: %[[TURNED:.*]] = dist.shard %[[C]] dim 0 over ["tp"] : tensor<3x2xf32> -> tensor<1x2xf32>
// CHECK: %[[D:.*]] = hone.reshape %[[TURNED]] : tensor<1x2xf32> -> tensor<2xf32>
// CHECK: hone.concat %[[OWN]], %[[D]] dim 0
func.func @snake_shard(%x: tensor<12xf32>) -> tensor<4xf32> {
  %0 = dist.shard %x dim 0 over ["tp"] cuts [6] snake : tensor<12xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
