// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @constant_c1() {
  // expected-error@+1 {{'hone.constant' op failed to verify that all of {value, result} have same type}}
  %c = "hone.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<4xf32>
  return
}
