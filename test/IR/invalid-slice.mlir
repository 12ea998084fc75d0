// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @slice_c1(%x: tensor<8x192xf32>) {
  // expected-error@+1 {{'hone.slice' op starts, limits and strides have 1, 2 and 2 entries, expected 2 each}}
  %y = hone.slice %x [0] to [8, 64] by [1, 1] : tensor<8x192xf32> -> tensor<8x64xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.slice' op dimension 0 is sliced 4 to 9 by 1, expected a range inside [0, 8] and a positive stride}}
  %y = hone.slice %x [4] to [9] by [1] : tensor<8xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_c2_reversed(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.slice' op dimension 0 is sliced 4 to 3 by 1, expected a range inside [0, 8] and a positive stride}}
  %y = hone.slice %x [4] to [3] by [1] : tensor<8xf32> -> tensor<0xf32>
  return
}

// -----

func.func @slice_c2_stride(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.slice' op dimension 0 is sliced 0 to 8 by 0, expected a range inside [0, 8] and a positive stride}}
  %y = hone.slice %x [0] to [8] by [0] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.slice' op result has shape [3], expected [4]}}
  %y = hone.slice %x [0] to [7] by [2] : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @slice_c3_element_type(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.slice' op result has element type 'f64', expected 'f32'}}
  %y = hone.slice %x [0] to [4] by [1] : tensor<8xf32> -> tensor<4xf64>
  return
}
