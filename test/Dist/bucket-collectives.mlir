// RUN: hone-opt %s --dist-bucket-collectives=bytes=64 --split-input-file | FileCheck %s

dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]

// Two sums of one kind and axis are one; nothing reads them in between. The other axis and the maximum keep theirs.
// CHECK-LABEL: @joined
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>, %[[Y:[a-z0-9]+]]: tensor<5xf32>
// CHECK: %[[A:.*]] = hone.neg %[[X]]
// CHECK: %[[B:.*]] = hone.neg %[[Y]]
// CHECK: dist.all_reduce sum %{{.*}} over ["tp"] : tensor<5xf32>
// CHECK: dist.all_reduce max %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: %[[FLAT:.*]] = hone.reshape %[[A]] : tensor<2x3xf32> -> tensor<6xf32>
// CHECK: %[[ALL:.*]] = hone.concat %[[FLAT]], %{{.*}} dim 0
// CHECK: %[[SUM:.*]] = dist.all_reduce sum %[[ALL]] over ["dp"] : tensor<11xf32>
// CHECK: hone.slice %[[SUM]] [0] to [6]
// CHECK: hone.slice %[[SUM]] [6] to [11]
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

// What is read ends a bucket; an argument cannot be made inside one; 64 bytes fill one.
// CHECK-LABEL: @apart
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<20xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<5xf32>
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
