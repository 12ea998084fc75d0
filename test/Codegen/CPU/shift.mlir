// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan --hone-lower-to-kernels | FileCheck %s
// What the rank below has: a collective of its own kind.
// CHECK: llvm.call @honert_collective
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%part: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<4x64xf32> {hone.kind = "grad", hone.fqn = "w"}) {
    %w = hone.fused collective (%p = %part : tensor<4x64xf32>) -> tensor<4x64xf32> {
      %0 = dist.shift %p by 1 over ["fs"] : tensor<4x64xf32>
      hone.yield %0 : tensor<4x64xf32>
    }
    return %w : tensor<4x64xf32>
  }
}
