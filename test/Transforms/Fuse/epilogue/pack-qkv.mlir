// RUN: hone-opt %s --hone-pack-projections=report=true 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-pack-projections,hone-autodiff,canonicalize,cse,func.func(hone-join-pads,canonicalize))' | FileCheck %s --check-prefix=BACK

// Behaviour 31: query, key and value of attention are one contraction, with one gradient of its input and one of its
// weight. The names of the state do not change: they are the parts'.

// REMARK: remark: packs q.weight, k.weight, v.weight, saves 16384 bytes per step

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x16x16xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<32x16xf32> {
// CHECK-SAME: hone.fqn = "q.weight+k.weight+v.weight"
// CHECK-SAME: hone.parts = [#hone.part<"q.weight", offset = [0, 0], shape = [16, 16]>,
// CHECK-SAME: #hone.part<"k.weight", offset = [16, 0], shape = [8, 16]>,
// CHECK-SAME: #hone.part<"v.weight", offset = [24, 0], shape = [8, 16]>]
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<32xf32> {
// CHECK-SAME: hone.parts = [#hone.part<"q.bias", offset = [0], shape = [16]>,
// CHECK-SAME: #hone.part<"k.bias", offset = [16], shape = [8]>,
// CHECK-SAME: #hone.part<"v.bias", offset = [24], shape = [8]>]
// CHECK: %[[P:.*]] = hone.dot_general %[[X]], %[[W]] batch [] x [] contract [2] x [1]
// CHECK: %[[R:.*]] = hone.broadcast %[[B]] dims [2]
// CHECK: %[[S:.*]] = hone.add %[[P]], %[[R]]
// CHECK: hone.slice %[[S]] [0, 0, 0] to [2, 16, 16]
// CHECK: hone.slice %[[S]] [0, 0, 16] to [2, 16, 24]
// CHECK: hone.slice %[[S]] [0, 0, 24] to [2, 16, 32]
// CHECK-NOT: hone.dot_general

// BACK-LABEL: func.func @gradient
// BACK: hone.attention_bwd
// BACK: %[[D:.*]] = hone.concat {{.*}} -> tensor<2x16x32xf32>
// BACK-DAG: hone.dot_general %[[D]], {{.*}} -> tensor<2x16x16xf32>
// BACK-DAG: hone.dot_general %[[D]], {{.*}} -> tensor<32x16xf32>
// BACK-NOT: hone.dot_general
// BACK: return
func.func @forward(
    %e: tensor<2x16x16xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %qw: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "q.weight", hone.param_group = 0 : i64, hone.requires_grad,
                            hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %qb: tensor<16xf32> {hone.kind = "param", hone.fqn = "q.bias", hone.param_group = 1 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %kw: tensor<8x16xf32> {hone.kind = "param", hone.fqn = "k.weight", hone.param_group = 0 : i64, hone.requires_grad,
                           hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %kb: tensor<8xf32> {hone.kind = "param", hone.fqn = "k.bias", hone.param_group = 1 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %vw: tensor<8x16xf32> {hone.kind = "param", hone.fqn = "v.weight", hone.param_group = 0 : i64, hone.requires_grad,
                           hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %vb: tensor<8xf32> {hone.kind = "param", hone.fqn = "v.bias", hone.param_group = 1 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %q0 = hone.dot_general %e, %qw batch [] x [] contract [2] x [1]
      : tensor<2x16x16xf32>, tensor<16x16xf32> -> tensor<2x16x16xf32>
  %q1 = hone.broadcast %qb dims [2] : tensor<16xf32> -> tensor<2x16x16xf32>
  %q2 = hone.add %q0, %q1 : tensor<2x16x16xf32>
  %q = hone.reshape %q2 : tensor<2x16x16xf32> -> tensor<2x16x4x4xf32>
  %k0 = hone.dot_general %e, %kw batch [] x [] contract [2] x [1]
      : tensor<2x16x16xf32>, tensor<8x16xf32> -> tensor<2x16x8xf32>
  %k1 = hone.broadcast %kb dims [2] : tensor<8xf32> -> tensor<2x16x8xf32>
  %k2 = hone.add %k0, %k1 : tensor<2x16x8xf32>
  %k = hone.reshape %k2 : tensor<2x16x8xf32> -> tensor<2x16x2x4xf32>
  %v0 = hone.dot_general %e, %vw batch [] x [] contract [2] x [1]
      : tensor<2x16x16xf32>, tensor<8x16xf32> -> tensor<2x16x8xf32>
  %v1 = hone.broadcast %vb dims [2] : tensor<8xf32> -> tensor<2x16x8xf32>
  %v2 = hone.add %v1, %v0 : tensor<2x16x8xf32>
  %v = hone.reshape %v2 : tensor<2x16x8xf32> -> tensor<2x16x2x4xf32>
  %o, %lse = hone.attention %q, %k, %v causal scale 0.5
      : (tensor<2x16x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>) -> (tensor<2x16x4x4xf32>, tensor<2x4x16xf32>)
  %loss = hone.reduce sum %o dims [0, 1, 2, 3] : tensor<2x16x4x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
