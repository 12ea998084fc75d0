// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @pad_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.pad' op low, high and interior have 2, 1 and 1 entries, expected 1 each}}
  %y = hone.pad %x low [1, 0] high [0] interior [0] : tensor<8xf32> -> tensor<9xf32>
  return
}

// -----

func.func @pad_c1_negative(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.pad' op dimension 0 is padded by 0, -1 and 0, expected nothing negative}}
  %y = hone.pad %x low [0] high [-1] interior [0] : tensor<8xf32> -> tensor<7xf32>
  return
}

// -----

func.func @pad_c2(%x: tensor<3xf32>) {
  // expected-error@+1 {{'hone.pad' op result has shape [8], expected [7]}}
  %y = hone.pad %x low [1] high [1] interior [1] : tensor<3xf32> -> tensor<8xf32>
  return
}

// -----

func.func @pad_c2_element_type(%x: tensor<3xf32>) {
  // expected-error@+1 {{'hone.pad' op result has element type 'i32', expected 'f32'}}
  %y = hone.pad %x low [1] high [1] interior [1] : tensor<3xf32> -> tensor<7xi32>
  return
}
