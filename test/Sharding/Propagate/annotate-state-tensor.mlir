// RUN: hone-opt %s --split-input-file --dist-annotate=mesh=tp=2 | FileCheck %s
// Axis tp divides the last dimension of the second weight, in whole blocks of codes: of 2 blocks each rank has one; of 3 blocks, rows instead.

// CHECK-LABEL: @hidden_512
// CHECK-SAME: tensor<64x512xf32> {dist.sharding = #dist.sharding<{}, {"tp"} p1>
// CHECK-SAME: tensor<64x512xi8> {dist.sharding = #dist.sharding<{}, {"tp"} p1>
// CHECK-SAME: tensor<64x2xf32> {dist.sharding = #dist.sharding<{}, {"tp"} p1>
func.func @hidden_512(%up: tensor<512x64xf32> {hone.fqn = "up", hone.kind = "param"},
                      %down: tensor<64x512xf32> {hone.fqn = "down", hone.kind = "param"},
                      %m: tensor<64x512xi8> {hone.fqn = "exp_avg.down", hone.kind = "opt"},
                      %s: tensor<64x2xf32> {hone.fqn = "exp_avg_scale.down", hone.kind = "opt"},
                      %x: tensor<8x64xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<8x64xf32> {
  %0 = hone.dot_general %x, %up batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<512x64xf32> -> tensor<8x512xf32>
  %1 = hone.tanh %0 : tensor<8x512xf32>
  %2 = hone.dot_general %1, %down batch [] x [] contract [1] x [1] : tensor<8x512xf32>, tensor<64x512xf32> -> tensor<8x64xf32>
  %3 = hone.softmax %2 : tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @hidden_768
// CHECK-SAME: tensor<64x768xf32> {dist.sharding = #dist.sharding<{}, {"tp"} p1>
// CHECK-SAME: tensor<64x768xi8> {dist.sharding = #dist.sharding<{"tp"} p1, {}>
// CHECK-SAME: tensor<64x3xf32> {dist.sharding = #dist.sharding<{"tp"} p1, {}>
func.func @hidden_768(%up: tensor<768x64xf32> {hone.fqn = "up", hone.kind = "param"},
                      %down: tensor<64x768xf32> {hone.fqn = "down", hone.kind = "param"},
                      %m: tensor<64x768xi8> {hone.fqn = "exp_avg.down", hone.kind = "opt"},
                      %s: tensor<64x3xf32> {hone.fqn = "exp_avg_scale.down", hone.kind = "opt"},
                      %x: tensor<8x64xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<8x64xf32> {
  %0 = hone.dot_general %x, %up batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<768x64xf32> -> tensor<8x768xf32>
  %1 = hone.tanh %0 : tensor<8x768xf32>
  %2 = hone.dot_general %1, %down batch [] x [] contract [1] x [1] : tensor<8x768xf32>, tensor<64x768xf32> -> tensor<8x64xf32>
  %3 = hone.softmax %2 : tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
