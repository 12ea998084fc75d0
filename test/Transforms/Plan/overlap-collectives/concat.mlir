// RUN: hone-opt %s --hone-overlap-collectives=always | FileCheck %s
// RUN: hone-opt %s --hone-overlap-collectives=always --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=PLAN
// Sums that are written into a concatenation are waited for behind the kernels that hide them; views of them come later, too.
// CHECK: dist.reduce_scatter sum %{{.*}} async
// CHECK-NEXT: hone.yield
// CHECK-NEXT: }
// CHECK-NEXT: fused map
// CHECK: hone.exp
// CHECK: dist.wait
// CHECK: hone.reshape
// CHECK: hone.concat
// CHECK-NEXT: fused collective
// CHECK-NEXT: dist.all_reduce

// The scatter writes where the concatenation lies, and what waits for it finds it there.
// PLAN: %[[WHOLE:.*]] = plan.buffer {{.*}} : memref<2097152xf32>
// PLAN: %[[PART:.*]] = plan.view %[[WHOLE]]
// PLAN-NEXT: plan.launch collective {{.*}} outs(%[[PART]]
// PLAN: dist.reduce_scatter
// PLAN: %[[SAME:.*]] = plan.view %[[WHOLE]] at 0
// PLAN-NEXT: plan.launch collective ins(%[[PART]] : {{.*}} outs(%[[SAME]] :
// PLAN: dist.wait
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>, <"cp" = 2>]
  func.func @step(%x: tensor<2048x1024xf32> {hone.kind = "input", hone.fqn = "x"},
                  %u: tensor<2048x1024xf32> {hone.kind = "input", hone.fqn = "u"})
      -> (tensor<1x2097152xf32> {hone.kind = "grad", hone.fqn = "x"}, tensor<2048x1024xf32> {hone.kind = "grad", hone.fqn = "u"}) {
    %a = hone.fused map (%p0 = %x : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.neg %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %g = hone.fused collective (%p = %a : tensor<2048x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = dist.reduce_scatter sum %p dim 0 over ["fs"] : tensor<2048x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %flat = hone.reshape %g : tensor<1024x1024xf32> -> tensor<1x1048576xf32>
    %b = hone.fused map (%p0 = %u : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.exp %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %c = hone.fused map (%p0 = %b : tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
      %0 = hone.exp %p0 : tensor<2048x1024xf32>
      hone.yield %0 : tensor<2048x1024xf32>
    }
    %other = hone.slice %c [0, 0] to [1024, 1024] by [1, 1] : tensor<2048x1024xf32> -> tensor<1024x1024xf32>
    %d = hone.fused map (%p0 = %other : tensor<1024x1024xf32>) -> tensor<1x1048576xf32> {
      %0 = hone.reshape %p0 : tensor<1024x1024xf32> -> tensor<1x1048576xf32>
      %1 = hone.neg %0 : tensor<1x1048576xf32>
      hone.yield %1 : tensor<1x1048576xf32>
    }
    %all = hone.concat %flat, %d dim 1 : (tensor<1x1048576xf32>, tensor<1x1048576xf32>) -> tensor<1x2097152xf32>
    %s = hone.fused collective (%p = %all : tensor<1x2097152xf32>) -> tensor<1x2097152xf32> {
      %0 = dist.all_reduce sum %p over ["cp"] : tensor<1x2097152xf32>
      hone.yield %0 : tensor<1x2097152xf32>
    }
    %e = hone.fused map (%p0 = %s : tensor<1x2097152xf32>) -> tensor<1x2097152xf32> {
      %0 = hone.neg %p0 : tensor<1x2097152xf32>
      hone.yield %0 : tensor<1x2097152xf32>
    }
    return %e, %c : tensor<1x2097152xf32>, tensor<2048x1024xf32>
  }
}
