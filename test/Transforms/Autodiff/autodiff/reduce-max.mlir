// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Elements that equal the maximum share its cotangent evenly.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[REDUCE:.+]] = hone.reduce max %[[X]] dims [1] : {{.*}}-> tensor<4xf32>
// CHECK: %[[BROADCAST:.+]] = hone.broadcast %[[C]] dims [0] : {{.*}}-> tensor<4x8xf32>
// CHECK: %[[BROADCAST2:.+]] = hone.broadcast %[[REDUCE]] dims [0] : {{.*}}-> tensor<4x8xf32>
// CHECK: %[[CMP:.+]] = hone.cmp eq, %[[X]], %[[BROADCAST2]]
// CHECK: %[[CAST:.+]] = hone.cast %[[CMP]] : {{.*}}-> tensor<4x8xf32>
// CHECK: %[[REDUCE2:.+]] = hone.reduce sum %[[CAST]] dims [1] : {{.*}}-> tensor<4xf32>
// CHECK: %[[MUL:.+]] = hone.mul %[[BROADCAST]], %[[CAST]]
// CHECK: %[[BROADCAST3:.+]] = hone.broadcast %[[REDUCE2]] dims [0] : {{.*}}-> tensor<4x8xf32>
// CHECK: %[[DIV:.+]] = hone.div %[[MUL]], %[[BROADCAST3]]
// CHECK: return %{{.+}}, %[[DIV]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.reduce max %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %weighted = hone.mul %y, %c : tensor<4xf32>
  %loss = hone.reduce sum %weighted dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
