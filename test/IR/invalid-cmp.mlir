// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @cmp_c1(%x: tensor<8xf32>, %y: tensor<8xbf16>) {
  // expected-error@+1 {{'hone.cmp' op requires all operands to have the same type}}
  %m = "hone.cmp"(%x, %y) {predicate = #hone<cmp lt>} : (tensor<8xf32>, tensor<8xbf16>) -> tensor<8xi1>
  return
}

// -----

func.func @cmp_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.cmp' op all non-scalar operands/results must have the same shape and base type}}
  %m = hone.cmp lt, %x, %x : tensor<8xf32> -> tensor<4xi1>
  return
}

// -----

func.func @cmp_element_type(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.cmp' op result #0 must be statically shaped tensor of 1-bit signless integer values, but got 'tensor<8xi8>'}}
  %m = hone.cmp lt, %x, %x : tensor<8xf32> -> tensor<8xi8>
  return
}
