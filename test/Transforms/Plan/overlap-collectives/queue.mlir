// RUN: hone-opt %s --hone-overlap-collectives=always | FileCheck %s
// Collectives along the same axes run one after the other. Behind the scatter, which nothing reads soon, the weight would
// come too late: so its gather begins before it, though the kernel between would hide the gather alone.
// CHECK: dist.all_gather %{{.*}} async
// CHECK: dist.wait %{{.*}} : tensor<1024x1024xf32>
// CHECK: dist.reduce_scatter sum %{{.*}} async
// CHECK: hone.exp
// CHECK: hone.mul
// CHECK: dist.wait %{{.*}} : tensor<2048x1024xf32>
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%part: tensor<512x1024xf32> {hone.kind = "param", hone.fqn = "w"},
                  %x: tensor<4096x1024xf32> {hone.kind = "input", hone.fqn = "x"}, %u: tensor<2048x1024xf32> {hone.kind = "input", hone.fqn = "u"},
                  %v: tensor<1024x1024xf32> {hone.kind = "input", hone.fqn = "v"})
      -> (tensor<1024x1024xf32> {hone.kind = "grad", hone.fqn = "v"}, tensor<2048x1024xf32> {hone.kind = "grad", hone.fqn = "u"},
          tensor<2048x1024xf32> {hone.kind = "grad", hone.fqn = "x"}) {
    %a = hone.fused map (%p0 = %x : tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
      %0 = hone.neg %p0 : tensor<4096x1024xf32>
      hone.yield %0 : tensor<4096x1024xf32>
    }
    %g = hone.fused collective (%p = %a : tensor<4096x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = dist.reduce_scatter sum %p dim 0 over ["fs"] : tensor<4096x1024xf32> -> tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %b = hone.fused map (%p0 = %u : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.exp %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %w = hone.fused collective (%p = %part : tensor<512x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<512x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %y = hone.fused map (%p0 = %v : tensor<1024x1024xf32>, %p1 = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = hone.mul %p0, %p1 : tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %z = hone.fused map (%p0 = %b : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.neg %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %s = hone.fused map (%p0 = %g : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.neg %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    return %y, %z, %s : tensor<1024x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>
  }
}
