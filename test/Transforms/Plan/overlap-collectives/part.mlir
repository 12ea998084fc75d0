// RUN: hone-opt %s --hone-overlap-collectives=always --hone-plan-memory --hone-verify-plan --hone-lower-to-kernels | FileCheck %s
// A sum of a part of a value, in place: what ends it finds it there.
// CHECK: llvm.call @honert_collective
// CHECK: llvm.call @honert_wait
module attributes {hone.target = "cpu x86-64-v3"} {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @step(%x: tensor<256xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<100xf32> {hone.kind = "grad", hone.fqn = "x"}, tensor<256xf32> {hone.kind = "grad", hone.fqn = "a"}, tensor<156xf32> {hone.kind = "grad", hone.fqn = "b"}) {
    %a = hone.fused map (%p = %x : tensor<256xf32>) -> tensor<256xf32> {
      %0 = hone.neg %p : tensor<256xf32>
      hone.yield %0 : tensor<256xf32>
    }
    %s = hone.slice %a [0] to [100] by [1] : tensor<256xf32> -> tensor<100xf32>
    %t = hone.slice %a [100] to [256] by [1] : tensor<256xf32> -> tensor<156xf32>
    %w = hone.fused collective (%p = %s : tensor<100xf32>) -> tensor<100xf32> {
      %0 = dist.all_reduce sum %p over ["fs"] : tensor<100xf32>
      hone.yield %0 : tensor<100xf32>
    }
    %n = hone.fused map (%p = %x : tensor<256xf32>) -> tensor<256xf32> {
      %0 = hone.exp %p : tensor<256xf32>
      hone.yield %0 : tensor<256xf32>
    }
    %m = hone.fused map (%p = %t : tensor<156xf32>) -> tensor<156xf32> {
      %0 = hone.exp %p : tensor<156xf32>
      hone.yield %0 : tensor<156xf32>
    }
    %y = hone.fused map (%q = %w : tensor<100xf32>) -> tensor<100xf32> {
      %0 = hone.exp %q : tensor<100xf32>
      hone.yield %0 : tensor<100xf32>
    }
    return %y, %n, %m : tensor<100xf32>, tensor<256xf32>, tensor<156xf32>
  }
}
