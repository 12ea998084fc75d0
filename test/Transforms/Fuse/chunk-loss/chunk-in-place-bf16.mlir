// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4},hone-decompose-rows, \
// RUN:   canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,CHUNKS
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=off},hone-decompose-rows, \
// RUN:   canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s

// The kernel of the loss widens logits in bf16 and narrows their gradient: it is written over them all the same.

// CHECK:       %[[L0:.*]] = plan.buffer at [[LOGITS:[0-9]+]] : memref<[[ROWS:4|8]]x64xbf16>
// CHECK-NEXT:  plan.launch contraction {{.*}} outs(%[[L0]] :
// CHECK:       %[[D0:.*]] = plan.buffer at [[LOGITS]] : memref<[[ROWS]]x64xbf16>
// CHECK-NEXT:  plan.launch row ins(%[[L0]]{{.*}} outs({{.*}}%[[D0]]{{ :|,}}
// CHUNKS:      %[[L1:.*]] = plan.buffer at [[LOGITS]] : memref<4x64xbf16>
// CHUNKS-NEXT: plan.launch contraction {{.*}} outs(%[[L1]] :
// CHUNKS:      %[[D1:.*]] = plan.buffer at [[LOGITS]] : memref<4x64xbf16>
// CHUNKS-NEXT: plan.launch row ins(%[[L1]]{{.*}} outs({{.*}}%[[D1]]{{ :|,}}
// CHECK-NOT:   plan.buffer {{.*}}x64xbf16>
// CHECK:       plan.result "grad.x"
func.func @step(%x: tensor<8x3xbf16> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<64x3xbf16> {hone.kind = "param", hone.fqn = "w"},
    %t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<8x3xbf16> {hone.kind = "grad", hone.fqn = "x"},
        tensor<64x3xbf16> {hone.kind = "grad", hone.fqn = "w"}) {
  %one = hone.constant dense<1.0> : tensor<f32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x3xbf16>, tensor<64x3xbf16> -> tensor<8x64xbf16>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.1 width 61
      : tensor<8x64xbf16>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  %d = hone.cross_entropy_bwd mean %one, %logits, %t, %lse ignore_index -100 label_smoothing 0.1 width 61
      : (tensor<f32>, tensor<8x64xbf16>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x64xbf16>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xbf16>, tensor<64x3xbf16> -> tensor<8x3xbf16>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0]
      : tensor<8x64xbf16>, tensor<8x3xbf16> -> tensor<64x3xbf16>
  return %loss, %dx, %dw : tensor<f32>, tensor<8x3xbf16>, tensor<64x3xbf16>
}
