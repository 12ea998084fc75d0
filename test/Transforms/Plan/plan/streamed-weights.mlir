// Copies of weights that kernels read layer by layer. On an H100 4 MiB take 101 us at 45 GB/s, a product of 1024 rows less
// and one of 8192 rows more. Where the link is slower than kernels, it is never idle: a copy begins before the wait for the
// one before it. Where it is faster, a copy begins with the kernel before its reader.
// RUN: hone-opt %s --hone-stream-weights --hone-plan-memory --hone-verify-plan | FileCheck %s

// Layer d is read twice in one visit. No more than two weights have memory, and where another is on its way, three.
// CHECK: plan.program @program arena 181141504 host 16777216
// CHECK-LABEL: plan.function @accumulate
// CHECK: plan.copy up %[[A:.+]] at 0 token 0
// CHECK: plan.copy up %[[B:.+]] at 4194304 token 2
// CHECK: plan.wait 0
// CHECK-NEXT: plan.buffer
// CHECK: plan.launch contraction ins(%{{.+}}, %[[A]] :
// CHECK: plan.copy up %[[C:.+]] at 8388608 token 4
// CHECK: plan.wait 2
// CHECK: plan.launch contraction ins(%{{.+}}, %[[B]] :
// CHECK: plan.copy up %[[D:.+]] at 12582912 token 6
// CHECK: plan.wait 4
// CHECK: plan.launch contraction ins(%{{.+}}, %[[C]] :
// CHECK: plan.copy up %[[C1:.+]] at 8388608 token 8
// CHECK: plan.wait 6
// CHECK: plan.launch contraction ins(%{{.+}}, %[[D]] :
// CHECK-NOT: plan.copy
// CHECK-NOT: plan.wait
// CHECK: plan.launch contraction ins(%{{.+}}, %[[D]] :
// CHECK: plan.copy up %[[B1:.+]] at 4194304 token 10
// CHECK: plan.wait 8
// CHECK: plan.launch contraction ins(%{{.+}}, %[[C1]] :
// CHECK: plan.copy up %[[A1:.+]] at 0 token 12
// CHECK: plan.wait 10
// CHECK: plan.launch contraction ins(%{{.+}}, %[[B1]] :
// CHECK: plan.wait 12
// CHECK: plan.launch contraction ins(%{{.+}}, %[[A1]] :

// CHECK-LABEL: plan.function @evaluate
// CHECK: plan.copy up %[[A:.+]] at 0 token 0
// CHECK-NEXT: plan.wait 0
// CHECK: plan.copy up %[[B:.+]] at 4194304 token 2
// CHECK-NOT: plan.wait
// CHECK: plan.launch contraction ins(%{{.+}}, %[[A]] :
// CHECK: plan.wait 2
// CHECK: plan.copy up %[[C:.+]] at 8388608 token 4
// CHECK-NOT: plan.wait
// CHECK: plan.launch contraction ins(%{{.+}}, %[[B]] :
// CHECK: plan.wait 4
// CHECK: plan.copy up %[[D:.+]] at 12582912 token 6
// CHECK-NOT: plan.wait
// CHECK: plan.launch contraction ins(%{{.+}}, %[[C]] :
// CHECK: plan.wait 6
// CHECK: plan.launch contraction ins(%{{.+}}, %[[D]] :

// However long a kernel takes, no more than the next layer is copied up beside it.
// CHECK-LABEL: plan.function @generate
// CHECK: plan.copy up %[[A:.+]] at 0 token 0
// CHECK-NEXT: plan.wait 0
// CHECK: plan.copy up %[[B:.+]] at 4194304 token 2
// CHECK-NOT: plan.copy
// CHECK: plan.launch contraction ins(%{{.+}}, %[[A]] :
// CHECK: plan.copy up %[[C:.+]] at 8388608 token 4
// CHECK-NEXT: plan.wait 2
// CHECK: plan.launch contraction ins(%{{.+}}, %[[B]] :
// CHECK: plan.copy up %{{.+}} at 12582912 token 6
// CHECK-NEXT: plan.wait 4
// CHECK: plan.launch contraction ins(%{{.+}}, %[[C]] :
// CHECK: plan.wait 6
module attributes {hone.target = "cuda sm_90"} {
  func.func @accumulate(%x: tensor<1024x1024xf32> {hone.kind = "input", hone.fqn = "x1024"},
    %a: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "a", plan.host, plan.layer = 0 : i64},
    %b: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "b", plan.host, plan.layer = 1 : i64},
    %c: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "c", plan.host, plan.layer = 2 : i64},
    %d: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "d", plan.host, plan.layer = 3 : i64})
      -> (tensor<1024x1024xf32> {hone.kind = "loss", hone.fqn = "y"}) {
    %0 = hone.fused contraction (%p = %x : tensor<1024x1024xf32>, %q = %a : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %1 = hone.fused contraction (%p = %0 : tensor<1024x1024xf32>, %q = %b : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %2 = hone.fused contraction (%p = %1 : tensor<1024x1024xf32>, %q = %c : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %3 = hone.fused contraction (%p = %2 : tensor<1024x1024xf32>, %q = %d : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %4 = hone.fused contraction (%p = %3 : tensor<1024x1024xf32>, %q = %d : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %5 = hone.fused contraction (%p = %4 : tensor<1024x1024xf32>, %q = %c : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %6 = hone.fused contraction (%p = %5 : tensor<1024x1024xf32>, %q = %b : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    %7 = hone.fused contraction (%p = %6 : tensor<1024x1024xf32>, %q = %a : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %r : tensor<1024x1024xf32>
    }
    return %7 : tensor<1024x1024xf32>
  }
  func.func @evaluate(%x: tensor<8192x1024xf32> {hone.kind = "input", hone.fqn = "x8192"},
    %a: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "a", plan.host, plan.layer = 0 : i64},
    %b: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "b", plan.host, plan.layer = 1 : i64},
    %c: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "c", plan.host, plan.layer = 2 : i64},
    %d: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "d", plan.host, plan.layer = 3 : i64})
      -> (tensor<8192x1024xf32> {hone.kind = "loss", hone.fqn = "y"}) {
    %0 = hone.fused contraction (%p = %x : tensor<8192x1024xf32>, %q = %a : tensor<1024x1024xf32>) -> tensor<8192x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8192x1024xf32>, tensor<1024x1024xf32> -> tensor<8192x1024xf32>
      hone.yield %r : tensor<8192x1024xf32>
    }
    %1 = hone.fused contraction (%p = %0 : tensor<8192x1024xf32>, %q = %b : tensor<1024x1024xf32>) -> tensor<8192x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8192x1024xf32>, tensor<1024x1024xf32> -> tensor<8192x1024xf32>
      hone.yield %r : tensor<8192x1024xf32>
    }
    %2 = hone.fused contraction (%p = %1 : tensor<8192x1024xf32>, %q = %c : tensor<1024x1024xf32>) -> tensor<8192x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8192x1024xf32>, tensor<1024x1024xf32> -> tensor<8192x1024xf32>
      hone.yield %r : tensor<8192x1024xf32>
    }
    %3 = hone.fused contraction (%p = %2 : tensor<8192x1024xf32>, %q = %d : tensor<1024x1024xf32>) -> tensor<8192x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8192x1024xf32>, tensor<1024x1024xf32> -> tensor<8192x1024xf32>
      hone.yield %r : tensor<8192x1024xf32>
    }
    return %3 : tensor<8192x1024xf32>
  }
  func.func @generate(%x: tensor<16384x1024xf32> {hone.kind = "input", hone.fqn = "long"}, %y: tensor<64x1024xf32> {hone.kind = "input", hone.fqn = "short"},
    %a: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "a", plan.host, plan.layer = 0 : i64},
    %b: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "b", plan.host, plan.layer = 1 : i64},
    %c: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "c", plan.host, plan.layer = 2 : i64},
    %d: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "d", plan.host, plan.layer = 3 : i64})
      -> (tensor<16384x1024xf32> {hone.kind = "loss", hone.fqn = "u"}, tensor<64x1024xf32> {hone.kind = "logits", hone.fqn = "v"}) {
    %0 = hone.fused contraction (%p = %x : tensor<16384x1024xf32>, %q = %a : tensor<1024x1024xf32>) -> tensor<16384x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<16384x1024xf32>, tensor<1024x1024xf32> -> tensor<16384x1024xf32>
      hone.yield %r : tensor<16384x1024xf32>
    }
    %1 = hone.fused contraction (%p = %y : tensor<64x1024xf32>, %q = %b : tensor<1024x1024xf32>) -> tensor<64x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x1024xf32>, tensor<1024x1024xf32> -> tensor<64x1024xf32>
      hone.yield %r : tensor<64x1024xf32>
    }
    %2 = hone.fused contraction (%p = %1 : tensor<64x1024xf32>, %q = %c : tensor<1024x1024xf32>) -> tensor<64x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x1024xf32>, tensor<1024x1024xf32> -> tensor<64x1024xf32>
      hone.yield %r : tensor<64x1024xf32>
    }
    %3 = hone.fused contraction (%p = %2 : tensor<64x1024xf32>, %q = %d : tensor<1024x1024xf32>) -> tensor<64x1024xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x1024xf32>, tensor<1024x1024xf32> -> tensor<64x1024xf32>
      hone.yield %r : tensor<64x1024xf32>
    }
    return %0, %3 : tensor<16384x1024xf32>, tensor<64x1024xf32>
  }
}
