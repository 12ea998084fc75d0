// RUN: hone-opt %s --dist-bucket-collectives=bytes=800 | FileCheck %s

dist.mesh @mesh [<"fs" = 2>]

// Small parameters come with the first that is read; what is gathered again does not come with them, nor what has to be made first.
// CHECK-LABEL: @gathered
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>, %[[Y:[a-z0-9]+]]: tensor<2xf32>
// CHECK: %[[A:.*]] = hone.reshape %[[X]] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK: %[[B:.*]] = hone.reshape %[[Y]] : tensor<2xf32> -> tensor<1x2xf32>
// CHECK: %[[OWN:.*]] = hone.concat %[[A]], %[[B]] dim 1
// CHECK: %[[ALL:.*]] = dist.all_gather %[[OWN]] dim 0 over ["fs"] : tensor<1x5xf32> -> tensor<2x5xf32>
// CHECK: %[[C:.*]] = hone.slice %[[ALL]] [0, 0] to [2, 3]
// CHECK: hone.reshape %[[C]] : tensor<2x3xf32> -> tensor<6xf32>
// CHECK: hone.neg
// CHECK: dist.all_gather %[[X]] dim 0 over ["fs"] again
// CHECK: dist.all_gather %{{.*}} dim 0 over ["fs"] : tensor<2xf32> -> tensor<4xf32>
// A 33rd of a bucket is too large: it would live as long as the last of them.
// CHECK: dist.all_gather %{{.*}} dim 0 over ["fs"] : tensor<5xf32> -> tensor<10xf32>
func.func @gathered(%x: tensor<3xf32>, %y: tensor<2xf32>, %z: tensor<5xf32>)
    -> (tensor<6xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<10xf32>) {
  %0 = dist.all_gather %x dim 0 over ["fs"] : tensor<3xf32> -> tensor<6xf32>
  %1 = hone.neg %0 : tensor<6xf32>
  %2 = dist.all_gather %y dim 0 over ["fs"] : tensor<2xf32> -> tensor<4xf32>
  %3 = dist.all_gather %x dim 0 over ["fs"] again : tensor<3xf32> -> tensor<6xf32>
  %4 = hone.neg %y : tensor<2xf32>
  %5 = dist.all_gather %4 dim 0 over ["fs"] : tensor<2xf32> -> tensor<4xf32>
  %6 = dist.all_gather %z dim 0 over ["fs"] : tensor<5xf32> -> tensor<10xf32>
  return %1, %2, %3, %5, %6 : tensor<6xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<10xf32>
}
