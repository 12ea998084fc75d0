// RUN: hone-opt %s --hone-overlap-collectives=always --hone-plan-memory --hone-verify-plan | FileCheck %s
// A kernel writes both parts of a concatenation over halves of a sum. What begins the sum writes where its wait, and
// after it the concatenation, finds it.
// CHECK: plan.launch collective {{.*}} outs(%[[SUM:[a-z_0-9]+]] :
// CHECK: dist.all_reduce
// CHECK: plan.launch collective ins(%[[SUM]] :
// CHECK: dist.wait
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%x: tensor<2048x1024xf32> {hone.kind = "input", hone.fqn = "x"},
                  %u: tensor<2048x1024xf32> {hone.kind = "input", hone.fqn = "u"})
      -> (tensor<1x2097152xf32> {hone.kind = "grad", hone.fqn = "x"}, tensor<2048x1024xf32> {hone.kind = "grad", hone.fqn = "u"}) {
    %a = hone.fused map (%p0 = %x : tensor<2048x1024xf32>) -> tensor<1x2097152xf32> {
      %0 = hone.reshape %p0 : tensor<2048x1024xf32> -> tensor<1x2097152xf32>
      %1 = hone.neg %0 : tensor<1x2097152xf32>
      hone.yield %1 : tensor<1x2097152xf32>
    }
    %g = hone.fused collective (%p = %a : tensor<1x2097152xf32>) -> tensor<1x2097152xf32> {
      %0 = dist.all_reduce sum %p over ["fs"] : tensor<1x2097152xf32>
      hone.yield %0 : tensor<1x2097152xf32>
    }
    %b = hone.fused map (%p0 = %u : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.exp %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %c = hone.fused map (%p0 = %b : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.exp %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %s0 = hone.slice %g [0, 0] to [1, 1048576] by [1, 1] : tensor<1x2097152xf32> -> tensor<1x1048576xf32>
    %s1 = hone.slice %g [0, 1048576] to [1, 2097152] by [1, 1] : tensor<1x2097152xf32> -> tensor<1x1048576xf32>
    %d:2 = hone.fused map (%p0 = %s0 : tensor<1x1048576xf32>, %p1 = %s1 : tensor<1x1048576xf32>) -> (tensor<1x1048576xf32>, tensor<1x1048576xf32>) {
      %0 = hone.mul %p0, %p1 : tensor<1x1048576xf32>
      %1 = hone.add %p0, %p1 : tensor<1x1048576xf32>
      hone.yield %0, %1 : tensor<1x1048576xf32>, tensor<1x1048576xf32>
    }
    %all = hone.concat %d#0, %d#1 dim 1 : (tensor<1x1048576xf32>, tensor<1x1048576xf32>) -> tensor<1x2097152xf32>
    %e = hone.fused map (%p0 = %all : tensor<1x2097152xf32>) -> tensor<1x2097152xf32> {
      %0 = hone.neg %p0 : tensor<1x2097152xf32>
      hone.yield %0 : tensor<1x2097152xf32>
    }
    return %e, %c : tensor<1x2097152xf32>, tensor<2048x1024xf32>
  }
}
