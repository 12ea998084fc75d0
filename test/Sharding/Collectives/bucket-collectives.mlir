// RUN: hone-opt %s --dist-bucket-collectives=bytes=64 --split-input-file | FileCheck %s

dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]

// Two sums of one kind and axis are one; nothing reads them in between. The other axis and the maximum keep theirs.
// CHECK-LABEL: @joined
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>, %[[Y:[a-z0-9]+]]: tensor<5xf32>
// CHECK: %[[A:.*]] = hone.neg %[[X]]
// CHECK: %[[B:.*]] = hone.neg %[[Y]]
// CHECK: dist.all_reduce sum %{{.*}} over ["tp"] : tensor<5xf32>
// CHECK: dist.all_reduce max %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: %[[FLAT:.*]] = hone.reshape %[[A]] : tensor<2x3xf32> -> tensor<1x6xf32>
// CHECK: %[[ALL:.*]] = hone.concat %[[FLAT]], %{{.*}} dim 1
// CHECK: %[[SUM:.*]] = dist.all_reduce sum %[[ALL]] over ["dp"] : tensor<1x11xf32>
// CHECK: hone.slice %[[SUM]] [0, 0] to [1, 6]
// CHECK: hone.slice %[[SUM]] [0, 6] to [1, 11]
// CHECK-NOT: dist.all_reduce
func.func @joined(%x: tensor<2x3xf32>, %y: tensor<5xf32>)
    -> (tensor<2x3xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %a = hone.neg %x : tensor<2x3xf32>
  %0 = dist.all_reduce sum %a over ["dp"] : tensor<2x3xf32>
  %b = hone.neg %y : tensor<5xf32>
  %1 = dist.all_reduce sum %b over ["dp"] : tensor<5xf32>
  %c = hone.abs %y : tensor<5xf32>
  %2 = dist.all_reduce sum %c over ["tp"] : tensor<5xf32>
  %d = hone.exp %y : tensor<5xf32>
  %3 = dist.all_reduce max %d over ["dp"] : tensor<5xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]

// What is read ends a bucket; 64 bytes fill one.
// CHECK-LABEL: @apart
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<1x10xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<1x20xf32>
// CHECK-NOT: dist.all_reduce
func.func @apart(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %a = hone.neg %x : tensor<5xf32>
  %0 = dist.all_reduce sum %a over ["dp"] : tensor<5xf32>
  %b = hone.neg %0 : tensor<5xf32>
  %1 = dist.all_reduce sum %b over ["dp"] : tensor<5xf32>
  %c = hone.neg %1 : tensor<5xf32>
  %2 = dist.all_reduce sum %x over ["dp"] : tensor<5xf32>
  %3 = dist.all_reduce sum %c over ["dp"] : tensor<5xf32>
  %d = hone.abs %2 : tensor<5xf32>
  %4 = dist.all_reduce sum %d over ["dp"] : tensor<5xf32>
  %e = hone.exp %2 : tensor<5xf32>
  %5 = dist.all_reduce sum %e over ["dp"] : tensor<5xf32>
  %f = hone.sin %2 : tensor<5xf32>
  %6 = dist.all_reduce sum %f over ["dp"] : tensor<5xf32>
  %g = hone.cos %2 : tensor<5xf32>
  %7 = dist.all_reduce sum %g over ["dp"] : tensor<5xf32>
  return %1, %2, %3, %4, %5, %6, %7 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

dist.mesh @mesh [<"fs" = 2>]

// Parts of one rank side by side in a block each: [2, 3] and [2, 2] to [2, 5], of which a rank gets [1, 5]. Half of a bucket is too much.
// CHECK-LABEL: @scattered
// CHECK: dist.reduce_scatter sum %{{.*}} dim 0 over ["fs"] : tensor<10xf32> -> tensor<5xf32>
// CHECK: %[[A:.*]] = hone.reshape %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK: %[[B:.*]] = hone.reshape %{{.*}} : tensor<4xf32> -> tensor<2x2xf32>
// CHECK: %[[ALL:.*]] = hone.concat %[[A]], %[[B]] dim 1
// CHECK: %[[OWN:.*]] = dist.reduce_scatter sum %[[ALL]] dim 0 over ["fs"] : tensor<2x5xf32> -> tensor<1x5xf32>
// CHECK: %[[C:.*]] = hone.slice %[[OWN]] [0, 0] to [1, 3]
// CHECK: hone.reshape %[[C]] : tensor<1x3xf32> -> tensor<1x3xf32>
// CHECK: %[[D:.*]] = hone.slice %[[OWN]] [0, 3] to [1, 5]
// CHECK: hone.reshape %[[D]] : tensor<1x2xf32> -> tensor<2xf32>
func.func @scattered(%x: tensor<2x3xf32>, %y: tensor<4xf32>, %z: tensor<10xf32>)
    -> (tensor<1x3xf32>, tensor<2xf32>, tensor<5xf32>) {
  %0 = dist.reduce_scatter sum %x dim 0 over ["fs"] : tensor<2x3xf32> -> tensor<1x3xf32>
  %1 = dist.reduce_scatter sum %y dim 0 over ["fs"] : tensor<4xf32> -> tensor<2xf32>
  %2 = dist.reduce_scatter sum %z dim 0 over ["fs"] : tensor<10xf32> -> tensor<5xf32>
  return %0, %1, %2 : tensor<1x3xf32>, tensor<2xf32>, tensor<5xf32>
}

// -----

dist.mesh @mesh [<"fs" = 2>]

// Updated parameters are read by nobody: all together, at the end.
// CHECK-LABEL: @updated
// CHECK: hone.neg
// CHECK: hone.exp
// CHECK: dist.all_gather %{{.*}} dim 0 over ["fs"] : tensor<1x5xf32> -> tensor<2x5xf32>
// CHECK-NOT: dist.all_gather
func.func @updated(%x: tensor<3xf32>, %y: tensor<2xf32>) -> (tensor<6xf32>, tensor<4xf32>) {
  %0 = hone.neg %x : tensor<3xf32>
  %1 = dist.all_gather %0 dim 0 over ["fs"] : tensor<3xf32> -> tensor<6xf32>
  %2 = hone.exp %y : tensor<2xf32>
  %3 = dist.all_gather %2 dim 0 over ["fs"] : tensor<2xf32> -> tensor<4xf32>
  return %1, %3 : tensor<6xf32>, tensor<4xf32>
}

// -----

dist.mesh @mesh [<"fs" = 2>, <"tp" = 2>]

// Sums along one axis that are scattered along another wait together: a bucket of each, the first read by the second.
// CHECK-LABEL: @along_two
// CHECK: dist.all_reduce sum %{{.*}} over ["tp"] : tensor<1x10xf32>
// CHECK: dist.reduce_scatter sum %{{.*}} dim 0 over ["fs"] : tensor<2x5xf32> -> tensor<1x5xf32>
// CHECK: return
func.func @along_two(%x: tensor<6xf32>, %y: tensor<4xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %a = hone.neg %x : tensor<6xf32>
  %0 = dist.all_reduce sum %a over ["tp"] : tensor<6xf32>
  %1 = dist.reduce_scatter sum %0 dim 0 over ["fs"] : tensor<6xf32> -> tensor<3xf32>
  %b = hone.neg %y : tensor<4xf32>
  %2 = dist.all_reduce sum %b over ["tp"] : tensor<4xf32>
  %3 = dist.reduce_scatter sum %2 dim 0 over ["fs"] : tensor<4xf32> -> tensor<2xf32>
  return %1, %3 : tensor<3xf32>, tensor<2xf32>
}

// -----

dist.mesh @mesh [<"fs" = 2>, <"tp" = 2>]

// A full bucket closes behind what waits for it; that comes after it.
// CHECK-LABEL: @full
// CHECK: %[[ALL:.*]] = dist.all_reduce sum %{{.*}} over ["tp"] : tensor<1x20xf32>
// CHECK: %[[PART:.*]] = hone.slice %[[ALL]] [0, 0] to [1, 4]
// CHECK: %[[SUM:.*]] = hone.reshape %[[PART]]
// CHECK: dist.reduce_scatter sum %[[SUM]] dim 0 over ["fs"] : tensor<4xf32> -> tensor<2xf32>
func.func @full(%x: tensor<4xf32>, %y: tensor<16xf32>) -> (tensor<2xf32>, tensor<16xf32>) {
  %a = hone.neg %x : tensor<4xf32>
  %0 = dist.all_reduce sum %a over ["tp"] : tensor<4xf32>
  %1 = dist.reduce_scatter sum %0 dim 0 over ["fs"] : tensor<4xf32> -> tensor<2xf32>
  %b = hone.neg %y : tensor<16xf32>
  %2 = dist.all_reduce sum %b over ["tp"] : tensor<16xf32>
  return %1, %2 : tensor<2xf32>, tensor<16xf32>
}

// -----

// A sum of a sum along the same axis is no member of its bucket, nor is one behind another axis.
// CHECK-LABEL: @chain
// CHECK-COUNT-3: dist.all_reduce sum %{{.*}} over [{{.*}}] : tensor<5xf32>
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
func.func @chain(%x: tensor<5xf32>) -> tensor<5xf32> {
  %a = hone.neg %x : tensor<5xf32>
  %0 = dist.all_reduce sum %a over ["dp"] : tensor<5xf32>
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<5xf32>
  %2 = dist.all_reduce sum %1 over ["dp"] : tensor<5xf32>
  return %2 : tensor<5xf32>
}

// -----

// CHECK-LABEL: @self
// CHECK-COUNT-2: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
func.func @self(%x: tensor<5xf32>) -> tensor<5xf32> {
  %a = hone.neg %x : tensor<5xf32>
  %0 = dist.all_reduce sum %a over ["dp"] : tensor<5xf32>
  %1 = dist.all_reduce sum %0 over ["dp"] : tensor<5xf32>
  return %1 : tensor<5xf32>
}

// -----

// A sum that nobody reads goes.
// CHECK-LABEL: @dead
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<1x10xf32>
// CHECK-NOT: dist.all_reduce max
dist.mesh @mesh [<"dp" = 2>]
func.func @dead(%x: tensor<5xf32>, %z: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %a = hone.neg %x : tensor<5xf32>
  %0 = dist.all_reduce sum %a over ["dp"] : tensor<5xf32>
  %1 = dist.all_reduce max %0 over ["dp"] : tensor<5xf32>
  %b = hone.neg %z : tensor<5xf32>
  %2 = dist.all_reduce sum %b over ["dp"] : tensor<5xf32>
  %c = hone.neg %0 : tensor<5xf32>
  return %2, %c : tensor<5xf32>, tensor<5xf32>
}

// -----

// Two buckets that would read each other.
// CHECK-LABEL: @hsdp
// CHECK: dist.all_reduce sum %{{.*}} over ["rep"] : tensor<4xf32>
// CHECK: dist.reduce_scatter sum
// CHECK: dist.all_reduce sum %{{.*}} over ["rep"] : tensor<2xf32>
dist.mesh @mesh [<"rep" = 2>, <"fs" = 2>]
func.func @hsdp(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = hone.neg %x : tensor<4xf32>
  %0 = dist.all_reduce sum %a over ["rep"] : tensor<4xf32>
  %1 = dist.reduce_scatter sum %0 dim 0 over ["fs"] : tensor<4xf32> -> tensor<2xf32>
  %b = hone.neg %y : tensor<4xf32>
  %2 = dist.reduce_scatter sum %b dim 0 over ["fs"] : tensor<4xf32> -> tensor<2xf32>
  %3 = dist.all_reduce sum %2 over ["rep"] : tensor<2xf32>
  return %1, %3 : tensor<2xf32>, tensor<2xf32>
}
