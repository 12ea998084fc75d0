// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan --split-input-file | FileCheck %s

// What ranks exchange is one run of memory: the activation is not written over the gate, whose rows have gaps, although that dies.

// CHECK: plan.launch map ins({{.*}}) outs(%[[GU:.*]] : memref<8x32xf32>)
// CHECK: %[[G:.*]] = plan.view %[[GU]] at 0
// CHECK: plan.launch map ins(%[[G]], {{.*}}) outs(%[[S:.*]] : memref<8x16xf32>)
// CHECK: %[[FLAT:.*]] = plan.view %[[S]] at 0 : memref<8x16xf32> to memref<1x8x16xf32, strided<[1, 16, 1]>>
// CHECK: plan.launch collective ins(%[[FLAT]]
dist.mesh @mesh [<"tp" = 2>]
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %a = hone.mul %b0, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %f = hone.reshape %s : tensor<8x16xf32> -> tensor<1x8x16xf32>
  %e = hone.fused collective (%b0 = %f : tensor<1x8x16xf32>) -> tensor<2x8x16xf32> {
    %t = dist.all_gather %b0 dim 0 over ["tp"] : tensor<1x8x16xf32> -> tensor<2x8x16xf32>
    hone.yield %t : tensor<2x8x16xf32>
  }
  %m = hone.fused row (%b0 = %e : tensor<2x8x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1, 2] : tensor<2x8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// So is what the function returns.

// CHECK: plan.launch map ins({{.*}}) outs(%[[S:.*]] : memref<8x16xf32>)
// CHECK: plan.result {{.*}}%[[S]] : memref<8x16xf32>
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<8x16xf32> {hone.kind = "grad", hone.fqn = "g"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %a = hone.mul %b0, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  return %s : tensor<8x16xf32>
}

// -----

// And what another kernel walks over as rows by index.

// CHECK: plan.launch map ins({{.*}}) outs(%[[S:.*]] : memref<8x16xf32>)
// CHECK: plan.launch gather ins(%[[S]],
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"},
    %i: tensor<4xi64> {hone.kind = "input", hone.fqn = "i"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %a = hone.mul %b0, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %e = hone.fused gather (%b0 = %s : tensor<8x16xf32>, %b1 = %i : tensor<4xi64>) -> tensor<4x16xf32> {
    %t = hone.embedding %b0, %b1 : tensor<8x16xf32>, tensor<4xi64> -> tensor<4x16xf32>
    hone.yield %t : tensor<4x16xf32>
  }
  %m = hone.fused row (%b0 = %e : tensor<4x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<4x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// Rows of a kernel lie at one distance: heads of a row with gaps do not, and a flat view of it does not exist.

// CHECK: plan.launch map ins({{.*}}) outs(%[[S:.*]] : memref<8x16xf32>)
// CHECK: %[[H:.*]] = plan.view %[[S]] at 0 : memref<8x16xf32> to memref<8x4x4xf32>
// CHECK: plan.launch row ins(%[[H]] :
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "g"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %a = hone.mul %b0, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %f = hone.reshape %s : tensor<8x16xf32> -> tensor<8x4x4xf32>
  %m = hone.fused row (%b0 = %f : tensor<8x4x4xf32>) -> tensor<8x4xf32> {
    %t = hone.reduce sum %b0 dims [2] : tensor<8x4x4xf32> -> tensor<8x4xf32>
    hone.yield %t : tensor<8x4xf32>
  }
  return %m : tensor<8x4xf32>
}

// -----

// CHECK: plan.launch map ins({{.*}}) outs(%[[S:.*]] : memref<8x16xf32>)
// CHECK: %[[F:.*]] = plan.view %[[S]] at 0 : memref<8x16xf32> to memref<128xf32>
// CHECK: plan.launch row ins(%[[F]] :
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %a = hone.mul %b0, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %f = hone.reshape %s : tensor<8x16xf32> -> tensor<128xf32>
  %m = hone.fused row (%b0 = %f : tensor<128xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0] : tensor<128xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}
