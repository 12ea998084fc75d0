// Where two early results take more than the budget, one at a time is early; where that is too much, too, none is.
// RUN: hone-opt %s --hone-overlap-collectives=always --hone-plan-memory | FileCheck %s --check-prefix=TWO
// RUN: hone-opt %s --hone-overlap-collectives="always budget=43007" --hone-plan-memory | FileCheck %s --check-prefix=ONE
// RUN: hone-opt %s --hone-overlap-collectives="always budget=40959" --hone-plan-memory | FileCheck %s --check-prefix=NONE
// TWO: plan.program @program arena 43008
// TWO-COUNT-4: dist.all_gather {{.*}} async
// ONE: plan.program @program arena 40960
// ONE: dist.all_gather {{.*}} async
// ONE: hone.neg
// ONE: dist.wait
// ONE: hone.mul
// ONE: dist.all_gather
// NONE: plan.program @program arena 38912
// NONE-NOT: async
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%p0: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w0"}, %p1: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w1"}, %p2: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w2"}, %p3: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w3"}, %x: tensor<8x64x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "x"}) {
    %wide = hone.fused map (%p = %x : tensor<8x64x8xf32>) -> tensor<8x64x8xf32> {
      %0 = hone.neg %p : tensor<8x64x8xf32>
      hone.yield %0 : tensor<8x64x8xf32>
    }
    %y0 = hone.fused row (%p = %wide : tensor<8x64x8xf32>) -> tensor<8x64xf32> {
      %0 = hone.reduce sum %p dims [2] : tensor<8x64x8xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %w0 = hone.fused collective (%p = %p0 : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %y1 = hone.fused map (%p = %y0 : tensor<8x64xf32>, %q = %w0 : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.mul %p, %q : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %w1 = hone.fused collective (%p = %p1 : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %y2 = hone.fused map (%p = %y1 : tensor<8x64xf32>, %q = %w1 : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.mul %p, %q : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %w2 = hone.fused collective (%p = %p2 : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %y3 = hone.fused map (%p = %y2 : tensor<8x64xf32>, %q = %w2 : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.mul %p, %q : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %w3 = hone.fused collective (%p = %p3 : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %y4 = hone.fused map (%p = %y3 : tensor<8x64xf32>, %q = %w3 : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.mul %p, %q : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    return %y4 : tensor<8x64xf32>
  }
}
