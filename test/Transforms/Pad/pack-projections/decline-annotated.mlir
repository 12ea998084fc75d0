// A user's sharding is one of its parameter, and not of a part of another one.
// RUN: hone-opt %s --hone-pack-projections=report=true 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

// REMARK: remark: p is not packed: the weight has a sharding of its own
// REMARK: remark: r is not packed with q: the weight has a sharding of its own
// REMARK: remark: packs q, s

dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<32x64xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "p"
// CHECK-SAME: tensor<64x64xf32> {hone.fqn = "q+s"
// CHECK-SAME: tensor<32x64xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "r"
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "param", hone.fqn = "p", hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.init = {dist = "constant", value = 0.0 : f64}},
    %r: tensor<32x64xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "param", hone.fqn = "r", hone.init = {dist = "constant", value = 0.0 : f64}},
    %s: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "s", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %c = hone.dot_general %x, %r batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %d = hone.dot_general %x, %s batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %ab = hone.mul %a, %b : tensor<8x32xf32>
  %cd = hone.mul %c, %d : tensor<8x32xf32>
  %e = hone.mul %ab, %cd : tensor<8x32xf32>
  %l = hone.reduce sum %e dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}
