// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @concat_c1() {
  // expected-error@+1 {{'hone.concat' op has no operand, expected at least one}}
  %y = hone.concat dim 0 : () -> tensor<0xf32>
  return
}

// -----

func.func @concat_c1_dim(%a: tensor<8xf32>) {
  // expected-error@+1 {{'hone.concat' op dim is 1, expected a dimension of a tensor of rank 1}}
  %y = hone.concat %a dim 1 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_c2(%a: tensor<8x3xf32>, %b: tensor<8x4xf32>) {
  // expected-error@+1 {{'hone.concat' op operand has shape [8, 4], expected [8, 3]}}
  %y = hone.concat %a, %b dim 0 : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<16x3xf32>
  return
}

// -----

func.func @concat_c2_element_type(%a: tensor<8xf32>, %b: tensor<8xbf16>) {
  // expected-error@+1 {{'hone.concat' op operand has element type 'bf16', expected 'f32'}}
  %y = hone.concat %a, %b dim 0 : (tensor<8xf32>, tensor<8xbf16>) -> tensor<16xf32>
  return
}

// -----

func.func @concat_c2_rank(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'hone.concat' op operand has shape [], expected [9]}}
  %y = hone.concat %a, %b dim 0 : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  return
}

// -----

func.func @concat_c3(%a: tensor<8x3xf32>, %b: tensor<8x4xf32>) {
  // expected-error@+1 {{'hone.concat' op sizes along dimension 1 add up to 7, expected 8}}
  %y = hone.concat %a, %b dim 1 : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return
}
