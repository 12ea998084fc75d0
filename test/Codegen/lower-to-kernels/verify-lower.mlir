// RUN: hone-opt %s --hone-verify-lower --split-input-file --verify-diagnostics

// expected-error@+1 {{has no @hone_program}}
module {}

// -----

llvm.func @hone_program(!llvm.ptr)
func.func @kernel(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{is left after lowering}}
  %r = hone.tanh %x : tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

llvm.func @hone_program(!llvm.ptr)
// expected-error@+1 {{is left after lowering}}
plan.program @p arena 64 {}
