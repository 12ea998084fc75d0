// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @reshape_c1(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.reshape' op operand has 32 elements, expected the result's 31}}
  %y = hone.reshape %x : tensor<2x16xf32> -> tensor<31xf32>
  return
}

// -----

func.func @reshape_c1_element_type(%x: tensor<2x16xf32>) {
  // expected-error@+1 {{'hone.reshape' op operand has element type 'f32', expected 'i32'}}
  %y = hone.reshape %x : tensor<2x16xf32> -> tensor<32xi32>
  return
}
