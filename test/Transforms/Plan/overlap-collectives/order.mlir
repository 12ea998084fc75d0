// RUN: hone-opt %s --hone-overlap-collectives=always | FileCheck %s
// Gathers begin in the order in which they are read, as long before as they take: no more than two are there at a time.
// CHECK: dist.all_gather
// CHECK: dist.all_gather
// CHECK: hone.neg
// CHECK: dist.wait
// CHECK: hone.mul
// CHECK: dist.all_gather
// CHECK: dist.wait
// CHECK: hone.mul
// CHECK: dist.all_gather
// CHECK: dist.wait
// CHECK: hone.mul
// CHECK: dist.wait
// CHECK: hone.mul
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%p0: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w0"}, %p1: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w1"}, %p2: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w2"}, %p3: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w3"}, %x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "x"}) {
    %y0 = hone.fused map (%p = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.neg %p : tensor<8x64xf32>
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
