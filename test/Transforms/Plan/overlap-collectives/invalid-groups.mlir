// RUN: not hone-opt %s --pass-pipeline='builtin.module(func.func(hone-verify-groups))' --split-input-file 2>&1 | FileCheck %s
// CHECK-COUNT-2: error: 'hone.fused' op only begins, expected one reader that waits for it
// CHECK-NOT: error
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%part: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<4x64xf32> {hone.kind = "grad", hone.fqn = "w"}) {
    %w = hone.fused collective (%p = %part : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] async : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %h = hone.fused map (%p = %part : tensor<4x64xf32>) -> tensor<4x64xf32> {
      %0 = hone.neg %p : tensor<4x64xf32>
      hone.yield %0 : tensor<4x64xf32>
    }
    return %h : tensor<4x64xf32>
  }
}

// -----

module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%part: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "w"}) {
    %w = hone.fused collective (%p = %part : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] async : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %h = hone.fused map (%p = %w : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.neg %p : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    return %h : tensor<8x64xf32>
  }
}
