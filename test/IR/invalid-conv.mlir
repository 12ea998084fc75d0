// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @conv_c1(%x: tensor<9x4xf32>, %w: tensor<4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op input has rank 2, expected at least 3: batch, spatial dimensions, channels}}
  %y = hone.conv %x, %w strides [] low [] high [] dilations [] : tensor<9x4xf32>, tensor<4x6xf32> -> tensor<9x6xf32>
  return
}

// -----

func.func @conv_c1_weight(%x: tensor<2x9x4xf32>, %w: tensor<4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op weight has rank 2, expected 3, that of input}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<4x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c2(%x: tensor<2x9x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op strides has 2 entries, expected 1, one per spatial dimension}}
  %y = hone.conv %x, %w strides [1, 1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x4x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c2_low(%x: tensor<2x9x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op low has the entry -1, expected at least 0}}
  %y = hone.conv %x, %w strides [1] low [-1] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x4x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c2_dilation(%x: tensor<2x9x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op dilations has the entry 0, expected at least 1}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [0] : tensor<2x9x4xf32>, tensor<3x4x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<2x9x4xf32>, %w: tensor<3x3x6xf32>) {
  // expected-error@+1 {{'hone.conv' op weight takes 3 channels per group, expected a divisor of 4}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x3x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c3_outputs(%x: tensor<2x9x4xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error@+1 {{'hone.conv' op weight makes 5 channels, expected a multiple of the 2 groups}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x2x5xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<2x9x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op result has shape [2, 8, 6], expected [2, 7, 6]}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x4x6xf32> -> tensor<2x8x6xf32>
  return
}

// -----

func.func @conv_c4_window(%x: tensor<2x9x4xf32>, %w: tensor<10x4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op window extends over 10 positions of spatial dimension 0, expected at most 9, its size with padding}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<10x4x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c4_empty(%x: tensor<2x9x4xf32>, %w: tensor<0x4x6xf32>) {
  // expected-error@+1 {{'hone.conv' op weight has a window of size 0, expected at least 1}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<0x4x6xf32> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<2x9x4xf32>, %w: tensor<3x4x6xbf16>) {
  // expected-error@+1 {{'hone.conv' op operand 1 has element type 'bf16', expected 'f32'}}
  %y = hone.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x4x6xbf16> -> tensor<2x7x6xf32>
  return
}

// -----

func.func @conv_c6(%x: tensor<2x9x4xf32>, %w: tensor<3x1x8xf32>) {
  // expected-error@+1 {{'hone.conv' op is depthwise, but weight takes 1 channels per group and makes 8, expected 1 and 4}}
  %y = hone.conv depthwise %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<3x1x8xf32> -> tensor<2x7x8xf32>
  return
}
