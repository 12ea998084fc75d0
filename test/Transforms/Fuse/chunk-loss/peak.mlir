// Whole logits are 2 MiB of the arena, chunks of 64 rows of them 256 KiB.
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=off},hone-decompose-rows, \
// RUN:   canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s --check-prefix=WHOLE
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=64},hone-decompose-rows, \
// RUN:   canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s --check-prefix=CHUNKS
// WHOLE:  plan.program @program arena 2{{[0-9][0-9][0-9][0-9][0-9][0-9]}} 
// CHUNKS: plan.program @program arena {{[34][0-9][0-9][0-9][0-9][0-9]}} 

func.func @step(%x: tensor<512x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<1024x8xf32> {hone.kind = "param", hone.fqn = "w"},
    %t: tensor<512xi64> {hone.kind = "input", hone.fqn = "t"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<512x8xf32> {hone.kind = "grad", hone.fqn = "x"},
        tensor<1024x8xf32> {hone.kind = "grad", hone.fqn = "w"}) {
  %one = hone.constant dense<1.0> : tensor<f32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<512x8xf32>, tensor<1024x8xf32> -> tensor<512x1024xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<512x1024xf32>, tensor<512xi64> -> tensor<f32>, tensor<512xf32>
  %d = hone.cross_entropy_bwd mean %one, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<512x1024xf32>, tensor<512xi64>, tensor<512xf32>) -> tensor<512x1024xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<512x1024xf32>, tensor<1024x8xf32> -> tensor<512x8xf32>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0]
      : tensor<512x1024xf32>, tensor<512x8xf32> -> tensor<1024x8xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<512x8xf32>, tensor<1024x8xf32>
}
