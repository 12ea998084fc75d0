// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Where the columns of a GELU's gradient are summed, for the gradient of a bias: where that costs least. The library
// sums only in calls with a result of f32.

module attributes {hone.target = "cuda sm_90"} {
// In bf16 the call of the weight's gradient could, whose result is f32, but takes longer by more than a kernel for it.
// CHECK-LABEL: func.func @bf16
// CHECK: hone.fused contraction {{.*}} -> tensor<8192x3072xbf16> {
// CHECK-NEXT: hone.dot_general
// CHECK-NEXT: hone.gelu_bwd
// CHECK-NEXT: hone.yield
// CHECK: hone.fused row {{.*}} -> tensor<3072xf32> {
// CHECK:   hone.reduce sum
// CHECK: hone.fused contraction {{.*}} -> tensor<3072x768xf32> {
// CHECK-NOT: hone.fused
func.func @bf16(%dy: tensor<8192x768xbf16>, %w: tensor<768x3072xbf16>, %u: tensor<8192x3072xbf16>,
    %x: tensor<8192x768xbf16>) -> (tensor<8192x3072xbf16>, tensor<3072xf32>, tensor<3072x768xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8192x768xbf16>, tensor<768x3072xbf16> -> tensor<8192x3072xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8192x3072xbf16>
  %wide = hone.cast %du : tensor<8192x3072xbf16> -> tensor<8192x3072xf32>
  %b = hone.reduce sum %wide dims [0] : tensor<8192x3072xf32> -> tensor<3072xf32>
  %d = hone.dot_general %du, %x batch [] x [] contract [0] x [0]
      : tensor<8192x3072xbf16>, tensor<8192x768xbf16> -> tensor<3072x768xf32>
  return %du, %b, %d : tensor<8192x3072xbf16>, tensor<3072xf32>, tensor<3072x768xf32>
}

// The same with the activations in rows of sequences, as a model has them.
// CHECK-LABEL: func.func @sequences
// CHECK: hone.fused contraction {{.*}} -> tensor<8x1024x3072xbf16> {
// CHECK: hone.fused row {{.*}} -> tensor<3072xf32> {
// CHECK: hone.fused contraction {{.*}} -> tensor<768x3072xf32> {
// CHECK-NOT: hone.fused
func.func @sequences(%dy: tensor<8x1024x768xbf16>, %w: tensor<768x3072xbf16>, %u: tensor<8x1024x3072xbf16>,
    %x: tensor<8x1024x768xbf16>) -> (tensor<8x1024x3072xbf16>, tensor<3072xf32>, tensor<768x3072xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [2] x [0]
      : tensor<8x1024x768xbf16>, tensor<768x3072xbf16> -> tensor<8x1024x3072xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8x1024x3072xbf16>
  %wide = hone.cast %du : tensor<8x1024x3072xbf16> -> tensor<8x1024x3072xf32>
  %b = hone.reduce sum %wide dims [0, 1] : tensor<8x1024x3072xf32> -> tensor<3072xf32>
  %d = hone.dot_general %x, %du batch [] x [] contract [0, 1] x [0, 1]
      : tensor<8x1024x768xbf16>, tensor<8x1024x3072xbf16> -> tensor<768x3072xf32>
  return %du, %b, %d : tensor<8x1024x3072xbf16>, tensor<3072xf32>, tensor<768x3072xf32>
}

// In fp32 both calls could; the one that makes the gradient loses less.
// CHECK-LABEL: func.func @fp32
// CHECK: hone.fused contraction {{.*}} -> (tensor<8192x3072xf32>, tensor<3072xf32>) {
// CHECK: hone.gelu_bwd
// CHECK: hone.reduce sum
// CHECK: hone.fused contraction {{.*}} -> tensor<3072x768xf32> {
// CHECK-NOT: hone.fused
func.func @fp32(%dy: tensor<8192x768xf32>, %w: tensor<768x3072xf32>, %u: tensor<8192x3072xf32>,
    %x: tensor<8192x768xf32>) -> (tensor<8192x3072xf32>, tensor<3072xf32>, tensor<3072x768xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8192x768xf32>, tensor<768x3072xf32> -> tensor<8192x3072xf32>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8192x3072xf32>
  %b = hone.reduce sum %du dims [0] : tensor<8192x3072xf32> -> tensor<3072xf32>
  %d = hone.dot_general %du, %x batch [] x [] contract [0] x [0]
      : tensor<8192x3072xf32>, tensor<8192x768xf32> -> tensor<3072x768xf32>
  return %du, %b, %d : tensor<8192x3072xf32>, tensor<3072xf32>, tensor<3072x768xf32>
}

// Here the other product is shorter by more than that.
// CHECK-LABEL: func.func @short_product
// CHECK: hone.fused contraction {{.*}} -> tensor<8192x3072xf32> {
// CHECK: hone.gelu_bwd
// CHECK: hone.fused contraction {{.*}} -> (tensor<3072xf32>, tensor<3072x64xf32>) {
// CHECK: hone.reduce sum
// CHECK-NOT: hone.fused
func.func @short_product(%dy: tensor<8192x768xf32>, %w: tensor<768x3072xf32>, %u: tensor<8192x3072xf32>,
    %x: tensor<8192x64xf32>) -> (tensor<8192x3072xf32>, tensor<3072xf32>, tensor<3072x64xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8192x768xf32>, tensor<768x3072xf32> -> tensor<8192x3072xf32>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8192x3072xf32>
  %b = hone.reduce sum %du dims [0] : tensor<8192x3072xf32> -> tensor<3072xf32>
  %d = hone.dot_general %du, %x batch [] x [] contract [0] x [0]
      : tensor<8192x3072xf32>, tensor<8192x64xf32> -> tensor<3072x64xf32>
  return %du, %b, %d : tensor<8192x3072xf32>, tensor<3072xf32>, tensor<3072x64xf32>
}

// A weight that is not trained has no product that could sum.
// CHECK-LABEL: func.func @frozen_weight
// CHECK: hone.fused contraction {{.*}} -> tensor<8192x3072xbf16> {
// CHECK: hone.gelu_bwd
// CHECK: hone.fused row
// CHECK: hone.reduce sum
func.func @frozen_weight(%dy: tensor<8192x768xbf16>, %w: tensor<768x3072xbf16>, %u: tensor<8192x3072xbf16>)
    -> (tensor<8192x3072xbf16>, tensor<3072xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8192x768xbf16>, tensor<768x3072xbf16> -> tensor<8192x3072xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8192x3072xbf16>
  %wide = hone.cast %du : tensor<8192x3072xbf16> -> tensor<8192x3072xf32>
  %b = hone.reduce sum %wide dims [0] : tensor<8192x3072xf32> -> tensor<3072xf32>
  return %du, %b : tensor<8192x3072xbf16>, tensor<3072xf32>
}

// A kernel of ours that makes the gradient sums it for nothing. Beside a wide model that decides: the call would save
// the traffic of three tensors, but not the time that it and the sum lose.
// CHECK-LABEL: func.func @wide
// CHECK: hone.fused contraction {{.*}} -> tensor<8192x4096xbf16> {
// CHECK-NEXT: hone.dot_general
// CHECK-NEXT: hone.yield
// CHECK: hone.fused row {{.*}} -> (tensor<8192x4096xbf16>, tensor<4096xf32>) {
// CHECK: hone.gelu_bwd
// CHECK: hone.reduce sum
// CHECK: hone.fused contraction {{.*}} -> tensor<4096x12288xf32> {
// CHECK-NOT: hone.fused
func.func @wide(%dy: tensor<8192x12288xbf16>, %w: tensor<12288x4096xbf16>, %u: tensor<8192x4096xbf16>,
    %x: tensor<8192x12288xbf16>) -> (tensor<8192x4096xbf16>, tensor<4096xf32>, tensor<4096x12288xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8192x12288xbf16>, tensor<12288x4096xbf16> -> tensor<8192x4096xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8192x4096xbf16>
  %wide = hone.cast %du : tensor<8192x4096xbf16> -> tensor<8192x4096xf32>
  %b = hone.reduce sum %wide dims [0] : tensor<8192x4096xf32> -> tensor<4096xf32>
  %d = hone.dot_general %du, %x batch [] x [] contract [0] x [0]
      : tensor<8192x4096xbf16>, tensor<8192x12288xbf16> -> tensor<4096x12288xf32>
  return %du, %b, %d : tensor<8192x4096xbf16>, tensor<4096xf32>, tensor<4096x12288xf32>
}

// Without a bias the call pays at that width.
// CHECK-LABEL: func.func @wide_without_bias
// CHECK: hone.fused contraction
// CHECK-NEXT: hone.dot_general
// CHECK-NEXT: hone.gelu_bwd
// CHECK-NEXT: hone.yield
func.func @wide_without_bias(%dy: tensor<8192x12288xbf16>, %w: tensor<12288x4096xbf16>, %u: tensor<8192x4096xbf16>)
    -> tensor<8192x4096xbf16> {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8192x12288xbf16>, tensor<12288x4096xbf16> -> tensor<8192x4096xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8192x4096xbf16>
  return %du : tensor<8192x4096xbf16>
}
}
