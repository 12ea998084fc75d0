// Four ranks share two key heads: queries are divided otherwise than keys and values.
// RUN: hone-opt %s --hone-pack-projections="report=true tensor-ranks=4" 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
// RUN: hone-opt %s --hone-pack-projections=tensor-ranks=2 | FileCheck %s --check-prefix=EVEN

// REMARK: remark: k is not packed with q: ranks along tp share key heads of one of them
// REMARK: remark: packs k, v
// CHECK: tensor<64x64xf32> {hone.fqn = "q"
// CHECK-SAME: tensor<64x64xf32> {hone.fqn = "k+v"
// EVEN: tensor<128x64xf32> {hone.fqn = "q+k+v"
func.func @forward(%x: tensor<2x8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %q: tensor<64x64xf32> {hone.fqn = "q", hone.init = {dist = "constant", value = 0.0 : f64}, hone.kind = "param"},
    %k: tensor<32x64xf32> {hone.fqn = "k", hone.init = {dist = "constant", value = 0.0 : f64}, hone.kind = "param"},
    %v: tensor<32x64xf32> {hone.fqn = "v", hone.init = {dist = "constant", value = 0.0 : f64}, hone.kind = "param"},
    %c: tensor<8x8xf32> {hone.fqn = "c", hone.kind = "buffer"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %0 = hone.dot_general %x, %q batch [] x [] contract [2] x [1] : tensor<2x8x64xf32>, tensor<64x64xf32> -> tensor<2x8x64xf32>
  %1 = hone.dot_general %x, %k batch [] x [] contract [2] x [1] : tensor<2x8x64xf32>, tensor<32x64xf32> -> tensor<2x8x32xf32>
  %2 = hone.dot_general %x, %v batch [] x [] contract [2] x [1] : tensor<2x8x64xf32>, tensor<32x64xf32> -> tensor<2x8x32xf32>
  %3 = hone.reshape %0 : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %4 = hone.reshape %1 : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %5 = hone.reshape %2 : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %6 = hone.rope half %3, %c, %c : tensor<2x8x4x16xf32>, tensor<8x8xf32>
  %7 = hone.rope half %4, %c, %c : tensor<2x8x2x16xf32>, tensor<8x8xf32>
  %y, %lse = hone.attention %6, %7, %5 causal scale 0.25 : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  %l = hone.reduce sum %y dims [0, 1, 2, 3] : tensor<2x8x4x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}
