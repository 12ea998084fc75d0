// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report=true}))' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s

// Why an op is not in the call of the product before it.

module attributes {hone.target = "cuda sm_90"} {
// The mask comes first, then the sum.
// CHECK-LABEL: remark: @dropout_between:
// CHECK: not joined: hone.add (a dropout lies between the product and the sum)
func.func @dropout_between(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %r: tensor<8x32xbf16>,
    %key: tensor<3xi64>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %d = hone.dropout %p, %key p 0.1 salt 3 : tensor<8x32xbf16>, tensor<3xi64>
  %y = hone.add %r, %d : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// The library adds what has the type of the result.
// CHECK-LABEL: remark: @another_type:
// CHECK: not joined: hone.add (the sum has another type than the product)
func.func @another_type(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %r: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %c = hone.cast %p : tensor<8x32xbf16> -> tensor<8x32xf32>
  %y = hone.add %r, %c : tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// The product without the sum would have to be stored too.
// CHECK-LABEL: remark: @second_reader:
// CHECK: not joined: hone.add (the product has another reader)
func.func @second_reader(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %r: tensor<8x32xbf16>)
    -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %y = hone.add %r, %p : tensor<8x32xbf16>
  return %y, %p : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// It does not exist yet.
// CHECK-LABEL: remark: @downstream:
// CHECK: not joined: hone.add (the addend depends on the product)
func.func @downstream(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %t = hone.tanh %p : tensor<8x32xbf16>
  %y = hone.add %t, %p : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// Only one of two products can take their sum.
// CHECK-LABEL: remark: @later_product:
// CHECK: not joined: hone.add (the addend's maker comes later and takes the sum)
func.func @later_product(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %v: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %q = hone.dot_general %x, %v batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %y = hone.add %p, %q : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// No library has it.
// CHECK-LABEL: remark: @gelu_by_erf:
// CHECK: not joined: hone.gelu (the library has GELU by tanh only)
func.func @gelu_by_erf(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %g = hone.gelu erf %p : tensor<8x32xbf16>
  return %g : tensor<8x32xbf16>
}

// Padding comes first.
// CHECK-LABEL: remark: @rows_of_36:
// CHECK: not joined: hone.gelu (its rows of 36 elements are no multiple of 8)
func.func @rows_of_36(%x: tensor<8x64xbf16>, %w: tensor<36x64xbf16>) -> tensor<8x36xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<36x64xbf16> -> tensor<8x36xbf16>
  %g = hone.gelu tanh %p : tensor<8x36xbf16>
  return %g : tensor<8x36xbf16>
}

// One matrix for the argument.
// CHECK-LABEL: remark: @batched:
// CHECK: not joined: hone.gelu (the product has batch dimensions)
func.func @batched(%x: tensor<3x8x64xbf16>, %w: tensor<3x32x64xbf16>) -> tensor<3x8x32xbf16> {
  %p = hone.dot_general %x, %w batch [0] x [0] contract [2] x [2]
      : tensor<3x8x64xbf16>, tensor<3x32x64xbf16> -> tensor<3x8x32xbf16>
  %g = hone.gelu tanh %p : tensor<3x8x32xbf16>
  return %g : tensor<3x8x32xbf16>
}

// The call overwrites the gradient.
// CHECK-LABEL: remark: @product_kept:
// CHECK: not joined: hone.gelu_bwd (the product has another reader)
func.func @product_kept(%dy: tensor<8x64xbf16>, %w: tensor<32x64xbf16>,
    %u: tensor<8x32xbf16>) -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8x32xbf16>
  return %p, %du : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// The vector of sums has the type of the result, which would overflow.
// CHECK-LABEL: remark: @fp16_bias_gradient:
// CHECK: not joined: hone.reduce (the library sums no operand beside a result of this type)
func.func @fp16_bias_gradient(%dy: tensor<8x32xf16>, %x: tensor<8x64xf16>) -> (tensor<32x64xf16>, tensor<32xf16>) {
  %b = hone.reduce sum %dy dims [0] : tensor<8x32xf16> -> tensor<32xf16>
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8x32xf16>, tensor<8x64xf16> -> tensor<32x64xf16>
  return %d, %b : tensor<32x64xf16>, tensor<32xf16>
}

// Nor does bf16 hold it.
// CHECK-LABEL: remark: @narrow_gelu_gradient:
// CHECK: not joined: hone.reduce (the library sums no result of this type)
func.func @narrow_gelu_gradient(%dy: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %u: tensor<8x32xbf16>)
    -> (tensor<8x32xbf16>, tensor<32xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8x32xbf16>
  %c = hone.cast %du : tensor<8x32xbf16> -> tensor<8x32xf32>
  %b = hone.reduce sum %c dims [0] : tensor<8x32xf32> -> tensor<32xf32>
  return %du, %b : tensor<8x32xbf16>, tensor<32xf32>
}

// One epilogue per call.
// CHECK-LABEL: remark: @sum_beside_a_bias:
// CHECK: not joined: hone.reduce (the library sums no operand beside a bias or an activation)
func.func @sum_beside_a_bias(%dy: tensor<8x32xf32>, %x: tensor<8x64xf32>, %v: tensor<64xf32>)
    -> (tensor<32x64xf32>, tensor<32xf32>) {
  %b = hone.reduce sum %dy dims [0] : tensor<8x32xf32> -> tensor<32xf32>
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8x32xf32>, tensor<8x64xf32> -> tensor<32x64xf32>
  %c = hone.broadcast %v dims [1] : tensor<64xf32> -> tensor<32x64xf32>
  %s = hone.add %d, %c : tensor<32x64xf32>
  return %s, %b : tensor<32x64xf32>, tensor<32xf32>
}

// Free, and in fp32.
// CHECK-LABEL: remark: @summed_where_made:
// CHECK: not joined: hone.reduce (the kernel that makes the operand sums it for nothing)
func.func @summed_where_made(%u: tensor<8x32xbf16>, %x: tensor<8x64xbf16>) -> (tensor<32x64xf32>, tensor<32xf32>) {
  %dy = hone.tanh %u : tensor<8x32xbf16>
  %c = hone.cast %dy : tensor<8x32xbf16> -> tensor<8x32xf32>
  %b = hone.reduce sum %c dims [0] : tensor<8x32xf32> -> tensor<32xf32>
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8x32xbf16>, tensor<8x64xbf16> -> tensor<32x64xf32>
  return %d, %b : tensor<32x64xf32>, tensor<32xf32>
}

// The addend waits for the sum.
// CHECK-LABEL: remark: @sum_read_before:
// CHECK: not joined: hone.reduce (the sum is read before the product is complete)
func.func @sum_read_before(%dy: tensor<8x32xbf16>, %x: tensor<8x64xbf16>,
    %g: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %c = hone.cast %dy : tensor<8x32xbf16> -> tensor<8x32xf32>
  %b = hone.reduce sum %c dims [0] : tensor<8x32xf32> -> tensor<32xf32>
  %s = hone.broadcast %b dims [0] : tensor<32xf32> -> tensor<32x64xf32>
  %m = hone.mul %s, %g : tensor<32x64xf32>
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8x32xbf16>, tensor<8x64xbf16> -> tensor<32x64xf32>
  %y = hone.add %d, %m : tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// A share of a long product is more than a read and a write of its result.
// CHECK-LABEL: remark: @does_not_pay:
// CHECK: not joined: hone.add (the product would take 61.1 us longer, to save 17.7 us of traffic)
func.func @does_not_pay(%x: tensor<4096x65536xbf16>, %w: tensor<4096x65536xbf16>,
    %r: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<4096x65536xbf16>, tensor<4096x65536xbf16> -> tensor<4096x4096xbf16>
  %y = hone.add %r, %p : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// The table has none.
// CHECK-LABEL: remark: @no_gelu_in_f64:
// CHECK: not joined: hone.gelu (the library has no GELU for this type here)
func.func @no_gelu_in_f64(%x: tensor<8x64xf64>, %w: tensor<32x64xf64>) -> tensor<8x32xf64> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf64>, tensor<32x64xf64> -> tensor<8x32xf64>
  %g = hone.gelu tanh %p : tensor<8x32xf64>
  return %g : tensor<8x32xf64>
}
}
