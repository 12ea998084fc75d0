// RUN: hone-opt %s --split-input-file --hone-set-mesh-invariant --dist-propagate --dist-partition --dist-verify | FileCheck %s
// RUN: hone-opt %s --split-input-file --dist-propagate --dist-partition --dist-verify | FileCheck %s --check-prefix=FAST

// What is added up is gathered: each rank adds all terms of the part of the sum that it keeps.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @rows_of_weights(
// CHECK-SAME: %[[X:.+]]: tensor<8x2xf32> {{.*}}, %[[W:.+]]: tensor<2x6xf32>
// CHECK-DAG: dist.all_gather %[[X]] dim 1 over ["tp"]
// CHECK-DAG: dist.all_gather %[[W]] dim 0 over ["tp"]
// CHECK: hone.dot_general {{.*}} : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
// CHECK: return
// FAST-LABEL: @rows_of_weights(
// FAST: hone.dot_general {{.*}} : tensor<8x2xf32>, tensor<2x6xf32> -> tensor<8x6xf32>
// FAST: dist.all_reduce sum
func.func @rows_of_weights(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>},
                           %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// Of a gradient that fs divides, a rank makes its own rows, from all of the batch.
dist.mesh @mesh [<"fs" = 2>]
// CHECK-LABEL: @gradient(
// CHECK-DAG: dist.all_to_all {{.*}} from 0 to 1 over ["fs"] : tensor<4x4xf32> -> tensor<8x2xf32>
// CHECK-DAG: dist.all_gather {{.*}} dim 0 over ["fs"] : tensor<4x6xf32> -> tensor<8x6xf32>
// CHECK: hone.dot_general {{.*}} : tensor<8x2xf32>, tensor<8x6xf32> -> tensor<2x6xf32>
// CHECK-NOT: dist.reduce_scatter
// CHECK: return
// FAST-LABEL: @gradient(
// FAST: dist.reduce_scatter sum
func.func @gradient(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"fs"}, {}>},
                    %d: tensor<8x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {}>})
    -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {}>}) {
  %g = hone.dot_general %x, %d batch [] x [] contract [0] x [0] : tensor<8x4xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  return %g : tensor<4x6xf32>
}

// -----

// A mean takes the number of all rows; a norm all tensors, whole.
dist.mesh @mesh [<"dp" = 2>]
// CHECK-LABEL: @loss(
// CHECK: hone.cross_entropy mean {{.*}} : tensor<8x6xf32>, tensor<8xi64>
// CHECK: hone.cross_entropy_bwd mean
// CHECK: hone.global_norm {{.*}}tensor<8x6xf32>
// FAST-LABEL: @loss(
// FAST: hone.cross_entropy sum
// FAST: hone.global_norm {{.*}}tensor<4x6xf32>
func.func @loss(%x: tensor<8x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>},
                %t: tensor<8xi64> {dist.sharding = #dist.sharding<{"dp"}>}, %g: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<8x6xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  %d = hone.cross_entropy_bwd mean %g, %x, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<8x6xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x6xf32>
  %e = hone.tanh %x : tensor<8x6xf32>
  %n = hone.global_norm %e : (tensor<8x6xf32>) -> tensor<f32>
  return %loss, %n : tensor<f32>, tensor<f32>
}
