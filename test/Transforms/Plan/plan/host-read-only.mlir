// State of the second arena that kernels only read is copied up, and has memory up to its last reader.
// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// What kernels between its readers make lies elsewhere. The next one comes up meanwhile.
// CHECK: plan.program @program arena 2048 host 768
// CHECK: %[[A:.+]] = plan.buffer at {{.+}} : memref<64xf32>
// CHECK-NEXT: plan.copy up %[[A]] at 0 token 0
// CHECK: plan.copy up %[[B:.+]] at 256 token 2
// CHECK-NEXT: plan.wait 0
// CHECK: plan.launch map ins(%[[A]] :
// CHECK: hone.neg
// CHECK: hone.exp
// CHECK: plan.launch map ins(%[[A]], %{{.+}} :
// CHECK: hone.add
// CHECK: hone.mul
// CHECK: plan.copy up %[[C:.+]] at 512 token 4
// CHECK-NEXT: plan.wait 2
// CHECK: plan.launch map ins(%[[B]] :
// CHECK: plan.wait 4
// CHECK: plan.launch map ins(%[[C]] :
// CHECK-NOT: plan.copy
func.func @fill_codes(%a: tensor<64xf32> {hone.kind = "param", hone.fqn = "a", plan.host},
                      %b: tensor<64xf32> {hone.kind = "param", hone.fqn = "b", plan.host},
                      %c: tensor<64xf32> {hone.kind = "param", hone.fqn = "c", plan.host},
                      %p: tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "p"},
                      %q: tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "q"},
                      %r: tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "r"},
                      %s: tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "s"})
    -> (tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "p", hone.donates = 3 : i64},
        tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "q", hone.donates = 4 : i64},
        tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "r", hone.donates = 5 : i64},
        tensor<64xf32> {hone.kind = "working_copy", hone.fqn = "s", hone.donates = 6 : i64}) {
  %n = hone.fused map (%x = %a : tensor<64xf32>) -> tensor<64xf32> {
    %y = hone.neg %x : tensor<64xf32>
    hone.yield %y : tensor<64xf32>
  }
  %e = hone.fused map (%x = %n : tensor<64xf32>) -> tensor<64xf32> {
    %y = hone.exp %x : tensor<64xf32>
    hone.yield %y : tensor<64xf32>
  }
  %0 = hone.fused map (%x = %a : tensor<64xf32>, %z = %e : tensor<64xf32>) -> tensor<64xf32> {
    %y = hone.add %x, %z : tensor<64xf32>
    hone.yield %y : tensor<64xf32>
  }
  %1 = hone.fused map (%x = %n : tensor<64xf32>, %z = %e : tensor<64xf32>) -> tensor<64xf32> {
    %y = hone.mul %x, %z : tensor<64xf32>
    hone.yield %y : tensor<64xf32>
  }
  %2 = hone.fused map (%x = %b : tensor<64xf32>) -> tensor<64xf32> {
    %y = hone.neg %x : tensor<64xf32>
    hone.yield %y : tensor<64xf32>
  }
  %3 = hone.fused map (%x = %c : tensor<64xf32>) -> tensor<64xf32> {
    %y = hone.neg %x : tensor<64xf32>
    hone.yield %y : tensor<64xf32>
  }
  return %0, %1, %2, %3 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
