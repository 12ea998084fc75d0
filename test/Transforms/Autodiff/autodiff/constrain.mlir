// RUN: hone-opt %s --hone-autodiff --canonicalize --hone-verify-gradient | FileCheck %s
// RUN: hone-run --gradcheck %s

// The cotangent is constrained alike; evaluation keeps the constraint.

dist.mesh @mesh [<"dp" = 2>, <"tp" = 4>]
// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}} {dist.sharding = #dist.sharding<{}, {"tp"}>, {{.*}}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: dist.constrain %[[X]] to <{"dp"}, {"tp"} p2> : tensor<4x8xf32>
// CHECK: %[[G:.+]] = dist.constrain %[[C]] to <{"dp"}, {"tp"} p2> : tensor<4x8xf32>
// CHECK: return %{{.+}}, %[[G]]
// CHECK-LABEL: func.func @evaluate(
// CHECK: dist.constrain
func.func @forward(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>, hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = dist.constrain %x to <{"dp"}, {"tp"} p2> : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
