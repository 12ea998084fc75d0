// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan --split-input-file | FileCheck %s

// Behaviour 15: the gradients of gate and up, joined for one contraction, lie where gate and up lay.

// CHECK: plan.buffer at 0 : memref<8x32xf32>
// CHECK: %[[GU:.*]] = plan.buffer at [[AT:[0-9]+]] {{.*}}memref<8x32xf32>
// CHECK: plan.launch map ins({{.*}}) outs(%[[GU]] : memref<8x32xf32>)
// CHECK: %[[G:.*]] = plan.view %[[GU]] at 0
// CHECK: %[[U:.*]] = plan.view %[[GU]] at 64
// CHECK: %[[DGU:.*]] = plan.buffer at [[AT]] {{.*}}memref<256xf32>
// CHECK: %[[DG:.*]] = plan.view %[[DGU]] at 0
// CHECK: %[[DU:.*]] = plan.view %[[DGU]] at 64
// CHECK: plan.launch map ins(%[[G]], %[[U]], {{.*}}) outs(%[[DG]], %[[DU]] :
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"},
    %d: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "d"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %n = hone.fused row (%b0 = %s : tensor<8x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  %r:2 = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>, %b2 = %d : tensor<8x16xf32>,
      %b3 = %n : tensor<f32>)
      -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    %du = hone.mul %b2, %i : tensor<8x16xf32>
    %e = hone.mul %b2, %b1 : tensor<8x16xf32>
    %dg = hone.mul %e, %l : tensor<8x16xf32>
    hone.yield %dg, %du : tensor<8x16xf32>, tensor<8x16xf32>
  }
  %dgu = hone.concat %r#0, %r#1 dim 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %m = hone.fused row (%b0 = %dgu : tensor<8x32xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// The activation, made again beside them, takes other memory.
// CHECK: plan.buffer at 0 : memref<8x32xf32>
// CHECK: %[[GU:.*]] = plan.buffer at [[AT:[0-9]+]] {{.*}}memref<8x32xf32>
// CHECK: plan.launch map ins({{.*}}) outs(%[[GU]] : memref<8x32xf32>)
// CHECK: %[[G:.*]] = plan.view %[[GU]] at 0
// CHECK: %[[DGU:.*]] = plan.buffer at [[AT]] {{.*}}memref<256xf32>
// CHECK: %[[DG:.*]] = plan.view %[[DGU]] at 0
// CHECK: %[[DU:.*]] = plan.view %[[DGU]] at 64
// CHECK: %[[S:.*]] = plan.buffer at {{.*}}memref<8x16xf32>
// CHECK: plan.launch map ins(%[[G]], {{.*}}) outs(%[[DG]], %[[DU]], %[[S]] :
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"},
    %d: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "d"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %n = hone.fused row (%b0 = %s : tensor<8x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  %r:3 = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>, %b2 = %d : tensor<8x16xf32>,
      %b3 = %n : tensor<f32>)
      -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    %du = hone.mul %b2, %i : tensor<8x16xf32>
    %e = hone.mul %b2, %b1 : tensor<8x16xf32>
    %dg = hone.mul %e, %l : tensor<8x16xf32>
    hone.yield %dg, %du, %a : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  %o = hone.fused row (%b0 = %r#2 : tensor<8x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  %dgu = hone.concat %r#0, %r#1 dim 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %m = hone.fused row (%b0 = %dgu : tensor<8x32xf32>, %b1 = %o : tensor<f32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// Not where two launches make the gradients: the second reads what the first would write over.
// CHECK: plan.buffer at 0 : memref<8x32xf32>
// CHECK: %[[GU:.*]] = plan.buffer at [[AT:[0-9]+]] {{.*}}memref<8x32xf32>
// CHECK: plan.launch map ins({{.*}}) outs(%[[GU]] : memref<8x32xf32>)
// CHECK-NOT: plan.buffer at [[AT]] {{.*}}memref<256xf32>
// CHECK: plan.result
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"},
    %d: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "d"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %n = hone.fused row (%b0 = %s : tensor<8x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  %dg = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>, %b2 = %d : tensor<8x16xf32>,
      %b3 = %n : tensor<f32>)
      -> tensor<8x16xf32> {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %e = hone.mul %b2, %b1 : tensor<8x16xf32>
    %r = hone.mul %e, %l : tensor<8x16xf32>
    hone.yield %r : tensor<8x16xf32>
  }
  %du = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b2 = %d : tensor<8x16xf32>,
      %b3 = %n : tensor<f32>) -> tensor<8x16xf32> {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %r = hone.mul %b2, %i : tensor<8x16xf32>
    hone.yield %r : tensor<8x16xf32>
  }
  %dgu = hone.concat %dg, %du dim 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %m = hone.fused row (%b0 = %dgu : tensor<8x32xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// Not where a later launch reads a factor.
// CHECK: plan.buffer at 0 : memref<8x32xf32>
// CHECK: %[[GU:.*]] = plan.buffer at [[AT:[0-9]+]] {{.*}}memref<8x32xf32>
// CHECK: plan.launch map ins({{.*}}) outs(%[[GU]] : memref<8x32xf32>)
// CHECK-NOT: plan.buffer at [[AT]] {{.*}}memref<256xf32>
// CHECK: plan.result
func.func @evaluate(%x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"},
    %d: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "d"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %gu = hone.fused map (%b0 = %x : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %t = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  %g = hone.slice %gu [0, 0] to [8, 16] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %u = hone.slice %gu [0, 16] to [8, 32] by [1, 1] : tensor<8x32xf32> -> tensor<8x16xf32>
  %s = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>) -> tensor<8x16xf32> {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    hone.yield %a : tensor<8x16xf32>
  }
  %n = hone.fused row (%b0 = %s : tensor<8x16xf32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  %r:2 = hone.fused map (%b0 = %g : tensor<8x16xf32>, %b1 = %u : tensor<8x16xf32>, %b2 = %d : tensor<8x16xf32>,
      %b3 = %n : tensor<f32>)
      -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %l = hone.logistic %b0 : tensor<8x16xf32>
    %i = hone.mul %b0, %l : tensor<8x16xf32>
    %a = hone.mul %i, %b1 : tensor<8x16xf32>
    %du = hone.mul %b2, %i : tensor<8x16xf32>
    %e = hone.mul %b2, %b1 : tensor<8x16xf32>
    %dg = hone.mul %e, %l : tensor<8x16xf32>
    hone.yield %dg, %du : tensor<8x16xf32>, tensor<8x16xf32>
  }
  %o = hone.fused row (%b0 = %g : tensor<8x16xf32>, %b1 = %r#0 : tensor<8x16xf32>) -> tensor<f32> {
    %p = hone.mul %b0, %b1 : tensor<8x16xf32>
    %t = hone.reduce sum %p dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  %dgu = hone.concat %r#0, %r#1 dim 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %m = hone.fused row (%b0 = %dgu : tensor<8x32xf32>, %b1 = %o : tensor<f32>) -> tensor<f32> {
    %t = hone.reduce sum %b0 dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
    hone.yield %t : tensor<f32>
  }
  return %m : tensor<f32>
}
