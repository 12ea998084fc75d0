// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-verify-groups))' --split-input-file --verify-diagnostics

// What the target's library does not have is no contraction group.

module attributes {hone.target = "cpu"} {
func.func @gelu_on_a_cpu(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  // expected-error@+1 {{is no call that the target has: the library has no GELU for this type here}}
  %r = hone.fused contraction (%a = %x : tensor<8x64xf32>, %b = %w : tensor<32x64xf32>) -> tensor<8x32xf32> {
    %p = hone.dot_general %a, %b batch [] x [] contract [1] x [1]
        : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
    %g = hone.gelu tanh %p : tensor<8x32xf32>
    hone.yield %g : tensor<8x32xf32>
  }
  return %r : tensor<8x32xf32>
}
}

// -----

module attributes {hone.target = "cuda sm_90"} {
func.func @gelu_on_a_gpu(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %r = hone.fused contraction (%a = %x : tensor<8x64xf32>, %b = %w : tensor<32x64xf32>) -> tensor<8x32xf32> {
    %p = hone.dot_general %a, %b batch [] x [] contract [1] x [1]
        : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
    %g = hone.gelu tanh %p : tensor<8x32xf32>
    hone.yield %g : tensor<8x32xf32>
  }
  return %r : tensor<8x32xf32>
}
}

// -----

module attributes {hone.target = "cuda sm_90"} {
func.func @another_map(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  // expected-error@+1 {{holds ops that no library call computes with a product}}
  %r = hone.fused contraction (%a = %x : tensor<8x64xf32>, %b = %w : tensor<32x64xf32>) -> tensor<8x32xf32> {
    %p = hone.dot_general %a, %b batch [] x [] contract [1] x [1]
        : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
    %g = hone.tanh %p : tensor<8x32xf32>
    hone.yield %g : tensor<8x32xf32>
  }
  return %r : tensor<8x32xf32>
}
}

// -----

// It takes one.
module attributes {hone.target = "cuda sm_90"} {
func.func @two_addends(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %c: tensor<8x32xf32>, %d: tensor<8x32xf32>)
    -> tensor<8x32xf32> {
  // expected-error@+1 {{holds ops that no library call computes with a product}}
  %r = hone.fused contraction (%a = %x : tensor<8x64xf32>, %b = %w : tensor<32x64xf32>, %e = %c : tensor<8x32xf32>,
      %f = %d : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %p = hone.dot_general %a, %b batch [] x [] contract [1] x [1]
        : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
    %s = hone.add %p, %e : tensor<8x32xf32>
    %t = hone.add %s, %f : tensor<8x32xf32>
    hone.yield %t : tensor<8x32xf32>
  }
  return %r : tensor<8x32xf32>
}
}

// -----

// Sums of something that the product does not contract.
module attributes {hone.target = "cuda sm_90"} {
func.func @other_sums(%dy: tensor<8x32xf32>, %x: tensor<8x64xf32>) -> (tensor<32x64xf32>, tensor<8xf32>) {
  // expected-error@+1 {{holds ops that no library call computes with a product}}
  %r:2 = hone.fused contraction (%a = %dy : tensor<8x32xf32>, %b = %x : tensor<8x64xf32>)
      -> (tensor<32x64xf32>, tensor<8xf32>) {
    %p = hone.dot_general %a, %b batch [] x [] contract [0] x [0]
        : tensor<8x32xf32>, tensor<8x64xf32> -> tensor<32x64xf32>
    %s = hone.reduce sum %a dims [1] : tensor<8x32xf32> -> tensor<8xf32>
    hone.yield %p, %s : tensor<32x64xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<32x64xf32>, tensor<8xf32>
}
}

// -----

// A vector of sums has the result's type, and sums are f32.
module attributes {hone.target = "cuda sm_90"} {
func.func @narrow_sums(%dy: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %u: tensor<8x32xbf16>)
    -> (tensor<8x32xbf16>, tensor<32xf32>) {
  // expected-error@+1 {{is no call that the target has: the library sums no result of this type}}
  %r:2 = hone.fused contraction (%a = %dy : tensor<8x64xbf16>, %b = %w : tensor<64x32xbf16>,
      %c = %u : tensor<8x32xbf16>) -> (tensor<8x32xbf16>, tensor<32xf32>) {
    %p = hone.dot_general %a, %b batch [] x [] contract [1] x [0]
        : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
    %du = hone.gelu_bwd tanh %p, %c : tensor<8x32xbf16>
    %wide = hone.cast %du : tensor<8x32xbf16> -> tensor<8x32xf32>
    %s = hone.reduce sum %wide dims [0] : tensor<8x32xf32> -> tensor<32xf32>
    hone.yield %du, %s : tensor<8x32xbf16>, tensor<32xf32>
  }
  return %r#0, %r#1 : tensor<8x32xbf16>, tensor<32xf32>
}
}
