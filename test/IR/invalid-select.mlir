// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @select_c1(%p: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xbf16>) {
  // expected-error@+1 {{'hone.select' op failed to verify that all of {on_true, on_false, result} have same type}}
  %r = "hone.select"(%p, %x, %y) : (tensor<8xi1>, tensor<8xf32>, tensor<8xbf16>) -> tensor<8xf32>
  return
}

// -----

func.func @select_c2(%p: tensor<4xi1>, %x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.select' op all non-scalar operands/results must have the same shape and base type}}
  %r = hone.select %p, %x, %x : tensor<4xi1>, tensor<8xf32>
  return
}
