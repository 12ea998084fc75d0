// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @yield_parent(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.yield' op expects parent op to be one of 'hone.fused, hone.custom_gradient'}}
  hone.yield %x : tensor<8xf32>
}
