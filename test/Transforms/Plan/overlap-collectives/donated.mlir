// RUN: hone-opt %s --hone-overlap-collectives=always --hone-plan-memory --hone-verify-plan | FileCheck %s
// The parameter is still being sent when its successor is made: that is written over it later.
// CHECK: plan.launch {{ *}}collective ins(%[[PART:.*]] : memref<4x64xf32>)
// CHECK: dist.all_gather %{{.*}} async
// CHECK: plan.launch {{ *}}map ins(%{{.*}}) outs(%[[NEXT:.*]] : memref<4x64xf32>)
// CHECK: dist.wait
// CHECK: plan.launch {{ *}}data_movement ins(%[[NEXT]] : memref<4x64xf32>)
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%part: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w"},
                  %x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<4x64xf32> {hone.donates = 0 : i64, hone.kind = "param", hone.fqn = "w"}, tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "x"}) {
    %w = hone.fused collective (%p = %part : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %n = hone.fused map (%p = %part : tensor<4x64xf32>) -> tensor<4x64xf32> {
      %0 = hone.neg %p : tensor<4x64xf32>
      hone.yield %0 : tensor<4x64xf32>
    }
    %y = hone.fused map (%p = %x : tensor<8x64xf32>, %q = %w : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.mul %p, %q : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    return %n, %y : tensor<4x64xf32>, tensor<8x64xf32>
  }
}
