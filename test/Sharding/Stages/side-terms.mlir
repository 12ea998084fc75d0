// A term of the loss that early layers add moves to the last stage; what it reads travels in the columns of what stages hand on.
// RUN: hone-opt %s --dist-assign-stages=stages=3 --split-input-file --verify-diagnostics | FileCheck %s

// Integers are computed again, casts and views too: only the scores of layers 0 and 1 are handed on, in f32.
// CHECK-LABEL: module @balance
// CHECK: %[[S0:.*]] = hone.softmax
// CHECK: hone.topk %[[S0]]
// CHECK: %[[R0:.*]] = hone.reshape %[[S0]] : tensor<8x4xf32> -> tensor<2x4x4xf32>
// CHECK: %[[ALL:.*]] = hone.concat %{{.*}}, %[[R0]] dim 2 : (tensor<2x4x16xf32>, tensor<2x4x4xf32>) -> tensor<2x4x20xf32>
// CHECK: dist.boundary %[[ALL]] from 0 to 1 : tensor<2x4x20xf32>
// CHECK: hone.slice %{{.*}} [0, 0, 0] to [2, 4, 16]
// CHECK: %[[T0:.*]] = hone.slice %{{.*}} [0, 0, 16] to [2, 4, 20]
// CHECK: dist.boundary %{{.*}} from 1 to 2 : tensor<2x4x24xf32>
// CHECK: %[[T1:.*]] = hone.slice %{{.*}} [0, 0, 16] to [2, 4, 20]
// CHECK: hone.cross_entropy
// CHECK: hone.topk
// CHECK: hone.reduce sum
// CHECK: %[[LOSS:.*]] = hone.add
// CHECK: return %[[LOSS]]
module @balance attributes {hone.target = "cpu znver4"} {
  func.func @forward(%w0: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w0"}, %w1: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w1"},
      %r0: tensor<4x16xf32> {hone.kind = "param", hone.fqn = "r0"}, %r1: tensor<4x16xf32> {hone.kind = "param", hone.fqn = "r1"},
      %head: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "head"},
      %x: tensor<2x4x16xf32> {hone.kind = "input", hone.fqn = "x"}, %t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %one = hone.constant dense<1.0> : tensor<8xf32>
    %share = hone.constant dense<0.1> : tensor<f32>
    %h0 = hone.dot_general %x, %w0 batch [] x [] contract [2] x [0] : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
    %f0 = hone.reshape %h0 : tensor<2x4x16xf32> -> tensor<8x16xf32>
    %l0 = hone.dot_general %f0, %r0 batch [] x [] contract [1] x [1] : tensor<8x16xf32>, tensor<4x16xf32> -> tensor<8x4xf32>
    %s0 = hone.softmax %l0 : tensor<8x4xf32>
    %i0 = hone.topk %s0 dim 1 : tensor<8x4xf32> -> tensor<8x1xi64>
    %p0 = hone.take_along %s0, %i0 dim 1 : tensor<8x4xf32>, tensor<8x1xi64> -> tensor<8x1xf32>
    %q0 = hone.reshape %p0 : tensor<8x1xf32> -> tensor<2x4xf32>
    %b0 = hone.broadcast %q0 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
    %m0 = hone.mul %h0, %b0 : tensor<2x4x16xf32>
    %j0 = hone.reshape %i0 : tensor<8x1xi64> -> tensor<8xi64>
    %n0 = hone.put_along sum %one, %j0 dim 0 : tensor<8xf32>, tensor<8xi64> -> tensor<4xf32>
    %c0 = hone.reduce sum %s0 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
    %h1 = hone.dot_general %m0, %w1 batch [] x [] contract [2] x [0] : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
    %f1 = hone.reshape %h1 : tensor<2x4x16xf32> -> tensor<8x16xf32>
    %l1 = hone.dot_general %f1, %r1 batch [] x [] contract [1] x [1] : tensor<8x16xf32>, tensor<4x16xf32> -> tensor<8x4xf32>
    %s1 = hone.softmax %l1 : tensor<8x4xf32>
    %p1 = hone.reduce max %s1 dims [1] : tensor<8x4xf32> -> tensor<8xf32>
    %q1 = hone.reshape %p1 : tensor<8xf32> -> tensor<2x4xf32>
    %b1 = hone.broadcast %q1 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
    %m1 = hone.mul %h1, %b1 : tensor<2x4x16xf32>
    %c1 = hone.reduce sum %s1 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
    %c = hone.add %c0, %c1 : tensor<4xf32>
    %e = hone.mul %c, %n0 : tensor<4xf32>
    %aux = hone.reduce sum %e dims [0] : tensor<4xf32> -> tensor<f32>
    %y = hone.dot_general %m1, %head batch [] x [] contract [2] x [0] : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
    %z = hone.reshape %y : tensor<2x4x16xf32> -> tensor<8x16xf32>
    %ce, %lse = hone.cross_entropy mean %z, %t ignore_index -100 label_smoothing 0.0 : tensor<8x16xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
    %part = hone.mul %aux, %share : tensor<f32>
    %loss = hone.add %ce, %part : tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// What a term reads has a row for each of those that a stage hands on; other places are none to cut.
module attributes {hone.target = "cpu znver4"} {
  // expected-error @below {{can be cut at 1 of its values, expected at least 2 for 3 stages: a stage hands one value to the next}}
  func.func @forward(%w0: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w0"}, %w1: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w1"},
      %x: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-note @below {{this value is read by the last of the ops that cannot be cut apart}}
    %h0 = hone.dot_general %x, %w0 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    // expected-note @below {{a term of the loss reads this value of type 'tensor<16xf32>' in the last stage, expected one row for each of those of 'tensor<8x16xf32>', which a stage would hand on}}
    %m = hone.reduce max %h0 dims [0] : tensor<8x16xf32> -> tensor<16xf32>
    %b = hone.broadcast %m dims [1] : tensor<16xf32> -> tensor<8x16xf32>
    %d = hone.sub %h0, %b : tensor<8x16xf32>
    %h1 = hone.exp %d : tensor<8x16xf32>
    %h2 = hone.dot_general %h1, %w1 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %h3 = hone.tanh %h2 : tensor<8x16xf32>
    %main = hone.reduce sum %h3 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    %aux = hone.reduce sum %m dims [0] : tensor<16xf32> -> tensor<f32>
    %loss = hone.add %main, %aux : tensor<f32>
    return %loss : tensor<f32>
  }
}
