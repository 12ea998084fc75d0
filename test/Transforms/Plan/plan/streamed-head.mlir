// A large weight, as of a head, has the time of several small layers before it: on an H100 16 MiB take 381 us at 45 GB/s,
// and a product of a layer 260 us. Its copy begins two layers ahead and not one: weights that are on their way or have
// readers left may take twice the bytes of the largest layer.
// RUN: hone-opt %s --hone-stream-weights --hone-plan-memory --hone-verify-plan | FileCheck %s

// CHECK-LABEL: plan.function @evaluate
// CHECK:       plan.launch contraction
// CHECK:       plan.launch contraction
// CHECK:       plan.wait 4
// CHECK:       plan.copy up %[[D:.+]] at 12582912 token 6
// CHECK:       plan.copy up %[[HEAD:.+]] at 16777216 token 8
// CHECK:       plan.launch contraction
// CHECK:       plan.wait 6
// CHECK:       plan.launch contraction ins(%{{.+}}, %[[D]] :
// CHECK:       plan.wait 8
// CHECK:       plan.launch contraction ins(%{{.+}}, %[[HEAD]] :
module attributes {hone.target = "cuda sm_90"} {
  func.func @evaluate(%x: tensor<8192x1024xf32> {hone.kind = "input", hone.fqn = "x"},
    %a: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "a", plan.host, plan.layer = 0 : i64},
    %b: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "b", plan.host, plan.layer = 1 : i64},
    %c: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "c", plan.host, plan.layer = 2 : i64},
    %d: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "d", plan.host, plan.layer = 3 : i64},
    %head: tensor<1024x4096xf32> {hone.kind = "param", hone.fqn = "head", plan.host, plan.layer = 4 : i64})
      -> (tensor<8192x4096xf32> {hone.kind = "loss", hone.fqn = "y"}) {
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
    %4 = hone.fused contraction (%p = %3 : tensor<8192x1024xf32>, %q = %head : tensor<1024x4096xf32>) -> tensor<8192x4096xf32> {
      %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8192x1024xf32>, tensor<1024x4096xf32> -> tensor<8192x4096xf32>
      hone.yield %r : tensor<8192x4096xf32>
    }
    return %4 : tensor<8192x4096xf32>
  }
}
