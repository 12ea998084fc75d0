// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 27: the residual stream is the matrix that the library adds (its C operand).

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @residual
// CHECK: hone.fused contraction ({{.*}} = %arg3 : tensor<8x32xbf16>)
// CHECK:   hone.dot_general
// CHECK:   hone.add
// CHECK:   hone.add
// CHECK-NEXT: hone.yield
// CHECK-NOT: hone.fused
func.func @residual(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>, %r: tensor<8x32xbf16>)
    -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %v = hone.broadcast %b dims [1] : tensor<32xbf16> -> tensor<8x32xbf16>
  %s = hone.add %p, %v : tensor<8x32xbf16>
  %y = hone.add %r, %s : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// The gradient that earlier micro-batches left is the addend of a weight's gradient, in fp32.
// CHECK-LABEL: func.func @accumulated_gradient
// CHECK: hone.fused contraction ({{.*}} = %arg2 : tensor<32x64xf32>)
// CHECK:   hone.dot_general
// CHECK-NEXT: hone.add
// CHECK-NEXT: hone.yield
// CHECK-NOT: hone.fused
func.func @accumulated_gradient(%dy: tensor<8x32xf32>, %x: tensor<8x64xf32>, %g: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8x32xf32>, tensor<8x64xf32> -> tensor<32x64xf32>
  %y = hone.add %g, %d : tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// CHECK-LABEL: func.func @second_reader
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
func.func @second_reader(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %r: tensor<8x32xbf16>)
    -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %y = hone.add %r, %p : tensor<8x32xbf16>
  return %y, %p : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// CHECK-LABEL: func.func @downstream
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
func.func @downstream(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %t = hone.tanh %p : tensor<8x32xbf16>
  %y = hone.add %t, %p : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// CHECK-LABEL: func.func @another_type
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
func.func @another_type(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %r: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %c = hone.cast %p : tensor<8x32xbf16> -> tensor<8x32xf32>
  %y = hone.add %r, %c : tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// 4096 x 4096 x 2 rows: the call would lose more than a read and a write of the result cost.
// CHECK-LABEL: func.func @does_not_pay
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
func.func @does_not_pay(%x: tensor<4096x65536xbf16>, %w: tensor<4096x65536xbf16>, %r: tensor<4096x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<4096x65536xbf16>, tensor<4096x65536xbf16> -> tensor<4096x4096xbf16>
  %y = hone.add %r, %p : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}
}
