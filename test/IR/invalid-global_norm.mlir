// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @global_norm_c1() {
  // expected-error@+1 {{'hone.global_norm' op has no operand, expected at least one}}
  %n = hone.global_norm : () -> tensor<f32>
  return
}
