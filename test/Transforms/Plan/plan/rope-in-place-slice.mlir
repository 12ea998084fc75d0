// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan --split-input-file | FileCheck %s

// Behaviour 14: query and key turn where the packed projection holds them, beside a value that is read later.

// CHECK: plan.buffer at 0 : memref<2x16x48xf32>
// CHECK: %[[P:.*]] = plan.buffer at {{.*}} : memref<2x16x48xf32>
// CHECK: plan.launch map {{.*}} outs(%[[P]] :
// CHECK: %[[Q:.*]] = plan.view %[[P]] at 0 : memref<2x16x48xf32> to memref<2x16x36xf32, strided<[768, 48, 1]>>
// CHECK: %[[H:.*]] = plan.view %[[Q]] at 0
// CHECK: plan.launch rope ins(%[[H]], {{.*}}) outs(%[[H]] :
// CHECK: plan.view %[[P]] at 144
func.func @evaluate(%x: tensor<2x16x48xf32> {hone.kind = "input", hone.fqn = "x"},
    %c: tensor<16x3xf32> {hone.kind = "buffer", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.fused map (%b0 = %x : tensor<2x16x48xf32>) -> tensor<2x16x48xf32> {
    %t = hone.tanh %b0 : tensor<2x16x48xf32>
    hone.yield %t : tensor<2x16x48xf32>
  }
  %qk = hone.slice %p [0, 0, 0] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x36xf32>
  %v = hone.slice %p [0, 0, 36] to [2, 16, 48] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x12xf32>
  %h = hone.reshape %qk : tensor<2x16x36xf32> -> tensor<2x16x6x6xf32>
  %r = hone.fused rope (%b0 = %h : tensor<2x16x6x6xf32>, %b1 = %c : tensor<16x3xf32>) -> tensor<2x16x6x6xf32> {
    %t = hone.rope half %b0, %b1, %b1 : tensor<2x16x6x6xf32>, tensor<16x3xf32>
    hone.yield %t : tensor<2x16x6x6xf32>
  }
  %f = hone.reshape %r : tensor<2x16x6x6xf32> -> tensor<2x16x36xf32>
  %l = hone.fused row (%b0 = %f : tensor<2x16x36xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1, 2] : tensor<2x16x36xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  %m = hone.fused row (%b0 = %v : tensor<2x16x12xf32>, %b1 = %l : tensor<f32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1, 2] : tensor<2x16x12xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// Another part reads the same columns.
// CHECK: plan.buffer at 0 : memref<2x16x48xf32>
// CHECK: %[[P:.*]] = plan.buffer at {{.*}} : memref<2x16x48xf32>
// CHECK: plan.launch map {{.*}} outs(%[[P]] :
// CHECK: %[[Q:.*]] = plan.view %[[P]] at 0 : memref<2x16x48xf32> to memref<2x16x36xf32, strided<[768, 48, 1]>>
// CHECK: %[[H:.*]] = plan.view %[[Q]] at 0
// CHECK: %[[R:.*]] = plan.buffer at {{.*}} : memref<2x16x6x6xf32>
// CHECK: plan.launch rope ins(%[[H]], {{.*}}) outs(%[[R]] :
func.func @evaluate(%x: tensor<2x16x48xf32> {hone.kind = "input", hone.fqn = "x"},
    %c: tensor<16x3xf32> {hone.kind = "buffer", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.fused map (%b0 = %x : tensor<2x16x48xf32>) -> tensor<2x16x48xf32> {
    %t = hone.tanh %b0 : tensor<2x16x48xf32>
    hone.yield %t : tensor<2x16x48xf32>
  }
  %qk = hone.slice %p [0, 0, 0] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x36xf32>
  %v = hone.slice %p [0, 0, 24] to [2, 16, 48] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x24xf32>
  %h = hone.reshape %qk : tensor<2x16x36xf32> -> tensor<2x16x6x6xf32>
  %r = hone.fused rope (%b0 = %h : tensor<2x16x6x6xf32>, %b1 = %c : tensor<16x3xf32>) -> tensor<2x16x6x6xf32> {
    %t = hone.rope half %b0, %b1, %b1 : tensor<2x16x6x6xf32>, tensor<16x3xf32>
    hone.yield %t : tensor<2x16x6x6xf32>
  }
  %l = hone.fused row (%b0 = %r : tensor<2x16x6x6xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1, 2, 3] : tensor<2x16x6x6xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  %m = hone.fused row (%b0 = %v : tensor<2x16x24xf32>, %b1 = %l : tensor<f32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1, 2] : tensor<2x16x24xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %m : tensor<f32>
}

// -----

// Two results could be written over the part: one of them is.
// CHECK: plan.buffer at 0 : memref<2x16x48xf32>
// CHECK: %[[P:.*]] = plan.buffer at {{.*}} : memref<2x16x48xf32>
// CHECK: plan.launch map {{.*}} outs(%[[P]] :
// CHECK: %[[Q:.*]] = plan.view %[[P]] at 0 : memref<2x16x48xf32> to memref<2x16x36xf32, strided<[768, 48, 1]>>
// CHECK: %[[B:.*]] = plan.buffer at {{.*}} : memref<2x16x36xf32>
// CHECK: plan.launch map ins(%[[Q]] : {{.*}}) outs(%[[Q]], %[[B]] :
func.func @evaluate(%x: tensor<2x16x48xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.fused map (%b0 = %x : tensor<2x16x48xf32>) -> tensor<2x16x48xf32> {
    %t = hone.tanh %b0 : tensor<2x16x48xf32>
    hone.yield %t : tensor<2x16x48xf32>
  }
  %q = hone.slice %p [0, 0, 0] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x36xf32>
  %r:2 = hone.fused map (%b0 = %q : tensor<2x16x36xf32>) -> (tensor<2x16x36xf32>, tensor<2x16x36xf32>) {
    %a = hone.tanh %b0 : tensor<2x16x36xf32>
    %b = hone.exp %b0 : tensor<2x16x36xf32>
    hone.yield %a, %b : tensor<2x16x36xf32>, tensor<2x16x36xf32>
  }
  %l = hone.fused row (%b0 = %r#0 : tensor<2x16x36xf32>, %b1 = %r#1 : tensor<2x16x36xf32>) -> tensor<f32> {
    %m = hone.mul %b0, %b1 : tensor<2x16x36xf32>
    %s = hone.reduce sum %m dims [0, 1, 2] : tensor<2x16x36xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
