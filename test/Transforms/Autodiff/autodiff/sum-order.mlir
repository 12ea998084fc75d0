// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Three uses of one value: contributions add in the order of the walk backwards, last use first.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK: %[[EXP:.+]] = hone.exp %[[X]]
// CHECK: hone.reduce
// CHECK: %[[DTANH:.+]] = hone.sub
// CHECK-NEXT: %[[FIRST:.+]] = hone.add %[[DTANH]], %[[EXP]]
// CHECK: %[[DCOS:.+]] = hone.neg
// CHECK-NEXT: %[[ALL:.+]] = hone.add %[[FIRST]], %[[DCOS]]
// CHECK-NEXT: return %{{.+}}, %[[ALL]]

func.func @forward(%x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.cos %x : tensor<4xf32>
  %b = hone.exp %x : tensor<4xf32>
  %c = hone.tanh %x : tensor<4xf32>
  %ab = hone.add %a, %b : tensor<4xf32>
  %abc = hone.add %ab, %c : tensor<4xf32>
  %loss = hone.reduce sum %abc dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
