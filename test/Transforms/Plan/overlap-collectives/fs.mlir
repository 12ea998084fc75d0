// RUN: hone-opt %s --hone-overlap-collectives=always | FileCheck %s
// RUN: hone-opt %s --hone-overlap-collectives | FileCheck %s --check-prefix=CPU
// RUN: hone-opt %s --hone-overlap-collectives="always budget=64" | FileCheck %s --check-prefix=CPU
// RUN: hone-opt %s --hone-overlap-collectives=always --hone-plan-memory --hone-verify-plan -o %t.mlir
// RUN: sed 's/  */ /g' %t.mlir | FileCheck %s --check-prefix=PLAN
// RUN: hone-opt %t.mlir --hone-lower-to-kernels | FileCheck %s --check-prefix=LOWER

// The parameter is gathered while the kernel before its reader runs; what the second kernel makes is scattered behind it, and waited for
// before the last kernel reads it. Nothing hides a sum that is read at once, and who writes a result waits there.
// CPU-NOT: async
// CHECK-LABEL: func.func @step
// CHECK: hone.fused collective
// CHECK: dist.all_gather %{{.*}} async
// CHECK: hone.fused map
// CHECK: dist.wait
// CHECK: hone.fused map
// CHECK: hone.fused collective
// CHECK: dist.reduce_scatter sum %{{.*}} async
// CHECK: hone.fused map
// CHECK: dist.wait
// CHECK: hone.fused map
// CHECK: dist.all_reduce sum %{{.*}} over ["fs"] : tensor<4x64xf32>
// CHECK-NOT: async
// CHECK: return

// What the scatter still reads is not written over before the wait; what it makes stays where it is.
// PLAN: dist.wait
// PLAN: %[[IN:.*]] = plan.buffer at 3072 : memref<8x64xf32>
// PLAN: %[[OUT:.*]] = plan.buffer at [[AT:[0-9]+]] : memref<4x64xf32>
// PLAN: plan.launch collective ins(%[[IN]] : memref<8x64xf32>) outs(%[[OUT]] : memref<4x64xf32>)
// PLAN: dist.reduce_scatter
// PLAN: %[[OTHER:.*]] = plan.buffer at 7168 : memref<8x64xf32>
// PLAN: plan.launch map ins(%{{.*}}) outs(%[[OTHER]] : memref<8x64xf32>)
// PLAN: %[[DONE:.*]] = plan.buffer at [[AT]] : memref<4x64xf32>
// PLAN: plan.launch collective ins(%[[OUT]] : memref<4x64xf32>) outs(%[[DONE]] : memref<4x64xf32>)
// PLAN: dist.wait
// LOWER-COUNT-2: llvm.call @honert_wait
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%part: tensor<4x64xf32> {hone.kind = "param", hone.fqn = "w"},
                  %x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<4x64xf32> {hone.kind = "grad", hone.fqn = "w"}, tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "x"},
          tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "a"}) {
    %a = hone.fused map (%p = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.neg %p : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %w = hone.fused collective (%p = %part : tensor<4x64xf32>) -> tensor<8x64xf32> {
      %0 = dist.all_gather %p dim 0 over ["fs"] : tensor<4x64xf32> -> tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %y = hone.fused map (%p = %a : tensor<8x64xf32>, %q = %w : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.mul %p, %q : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %g = hone.fused collective (%p = %y : tensor<8x64xf32>) -> tensor<4x64xf32> {
      %0 = dist.reduce_scatter sum %p dim 0 over ["fs"] : tensor<8x64xf32> -> tensor<4x64xf32>
      hone.yield %0 : tensor<4x64xf32>
    }
    %z = hone.fused map (%p = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = hone.exp %p : tensor<8x64xf32>
      hone.yield %0 : tensor<8x64xf32>
    }
    %h = hone.fused map (%p = %g : tensor<4x64xf32>) -> tensor<4x64xf32> {
      %0 = hone.neg %p : tensor<4x64xf32>
      hone.yield %0 : tensor<4x64xf32>
    }
    %s = hone.fused collective (%p = %h : tensor<4x64xf32>) -> tensor<4x64xf32> {
      %0 = dist.all_reduce sum %p over ["fs"] : tensor<4x64xf32>
      hone.yield %0 : tensor<4x64xf32>
    }
    return %s, %z, %a : tensor<4x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
  }
}
