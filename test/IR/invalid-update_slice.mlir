// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @update_slice_c1(%x: tensor<8x4xf32>, %u: tensor<2x4xf32>, %at: tensor<i64>) {
  // expected-error@+1 {{'hone.update_slice' op dim is 2, expected a dimension of a tensor of rank 2}}
  %y = hone.update_slice %x, %u at %at dim 2 : tensor<8x4xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @update_slice_c2_rank(%x: tensor<8x4xf32>, %u: tensor<4xf32>, %at: tensor<i64>) {
  // expected-error@+1 {{'hone.update_slice' op update has rank 1, expected 2}}
  %y = hone.update_slice %x, %u at %at dim 0 : tensor<8x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @update_slice_c2_size(%x: tensor<8x4xf32>, %u: tensor<9x4xf32>, %at: tensor<i64>) {
  // expected-error@+1 {{'hone.update_slice' op update has 9 elements per line, expected at most 8}}
  %y = hone.update_slice %x, %u at %at dim 0 : tensor<8x4xf32>, tensor<9x4xf32>
  return
}

// -----

func.func @update_slice_c2(%x: tensor<8x4xf32>, %u: tensor<2x3xf32>, %at: tensor<i64>) {
  // expected-error@+1 {{'hone.update_slice' op update has shape [2, 3], expected [2, 4]}}
  %y = hone.update_slice %x, %u at %at dim 0 : tensor<8x4xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @update_slice_c2_element(%x: tensor<8x4xf32>, %u: tensor<2x4xbf16>, %at: tensor<i64>) {
  // expected-error@+1 {{'hone.update_slice' op update has element type 'bf16', expected 'f32'}}
  %y = hone.update_slice %x, %u at %at dim 0 : tensor<8x4xf32>, tensor<2x4xbf16>
  return
}

// -----

func.func @update_slice_c3(%x: tensor<8x4xf32>, %u: tensor<2x4xf32>, %at: tensor<i64>) {
  // expected-error@+1 {{'hone.update_slice' op failed to verify that all of {operand, result} have same type}}
  %y = "hone.update_slice"(%x, %u, %at) <{dim = 0 : i64}>
      : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i64>) -> tensor<4x4xf32>
  return
}
