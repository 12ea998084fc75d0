// RUN: hone-opt %s --hone-overlap-collectives=always | FileCheck %s
// A gradient is added up along two axes, one after the other: the second sum comes when the first is there, not right
// behind it.
// CHECK: dist.reduce_scatter sum %{{.*}} async
// CHECK: hone.exp
// CHECK: %[[PART:.*]] = hone.fused collective
// CHECK-NEXT: dist.wait
// CHECK: hone.fused collective (%{{.*}} = %[[PART]]
// CHECK-NEXT: dist.all_reduce sum %{{.*}} async
// CHECK: hone.mul
// CHECK: dist.wait
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>, <"cp" = 2>]
  func.func @step(%x: tensor<2048x1024xf32> {hone.kind = "input", hone.fqn = "x"},
                  %u: tensor<8192x1024xf32> {hone.kind = "input", hone.fqn = "u"})
      -> (tensor<1024x1024xf32> {hone.kind = "grad", hone.fqn = "x"}, tensor<8192x1024xf32> {hone.kind = "grad", hone.fqn = "u"}) {
    %a = hone.fused map (%p0 = %x : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.neg %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %g = hone.fused collective (%p = %a : tensor<2048x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = dist.reduce_scatter sum %p dim 0 over ["fs"] : tensor<2048x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %s = hone.fused collective (%p = %g : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = dist.all_reduce sum %p over ["cp"] : tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %b = hone.fused map (%p0 = %u : tensor<8192x1024xf32>) -> tensor<8192x1024xf32> {
      %0 = hone.exp %p0 : tensor<8192x1024xf32>
      hone.yield %0 : tensor<8192x1024xf32>
    }
    %c = hone.fused map (%p0 = %b : tensor<8192x1024xf32>) -> tensor<8192x1024xf32> {
      %0 = hone.mul %p0, %p0 : tensor<8192x1024xf32>
      hone.yield %0 : tensor<8192x1024xf32>
    }
    %e = hone.fused map (%p0 = %s : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = hone.neg %p0 : tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    return %e, %c : tensor<1024x1024xf32>, tensor<8192x1024xf32>
  }
}
