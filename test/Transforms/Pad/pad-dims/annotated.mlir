// Parameters keep their shardings, constraints behind them too, where parts stay even; cuts as well.
// RUN: hone-opt %s --split-input-file --hone-pad-dims="multiple=8 report=true" --hone-verify-pad 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

dist.mesh @mesh [<"tp" = 2>]
// REMARK: dimension 1 of 'u' is padded from 6 to 8
// CHECK-LABEL: @forward
// CHECK-SAME: tensor<4x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>, hone.fqn = "u"
// CHECK-SAME: tensor<8x16xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "v"
// CHECK: dist.constrain %{{.+}} to <{}, {"tp"}> : tensor<8x8xf32>
func.func @forward(%x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"},
    %u: tensor<4x6xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>, hone.kind = "param", hone.fqn = "u", hone.init = {dist = "constant", value = 0.0 : f64}},
    %v: tensor<6x16xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "param", hone.fqn = "v", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %h = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %k = dist.constrain %h to <{}, {"tp"}> : tensor<8x6xf32>
  %y = hone.dot_general %k, %v batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x16xf32> -> tensor<8x16xf32>
  %l = hone.reduce sum %y dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Six columns have three parts, eight have none.
dist.mesh @mesh [<"tp" = 3>]
// REMARK: dimension 1 of 'u' (6) is not padded: 8 elements have no 3 equal parts, as its sharding wants
// CHECK-LABEL: @forward
// CHECK-SAME: tensor<4x6xf32>
// CHECK: dist.constrain
func.func @forward(%x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"},
    %u: tensor<4x6xf32> {hone.kind = "param", hone.fqn = "u", hone.init = {dist = "constant", value = 0.0 : f64}},
    %v: tensor<6x16xf32> {hone.kind = "param", hone.fqn = "v", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %h = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %k = dist.constrain %h to <{}, {"tp"}> : tensor<8x6xf32>
  %y = hone.dot_general %k, %v batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x16xf32> -> tensor<8x16xf32>
  %l = hone.reduce sum %y dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}
