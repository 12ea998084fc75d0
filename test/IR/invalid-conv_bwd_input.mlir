// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @conv_bwd_input_c1(%g: tensor<2x8x6xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'hone.conv_bwd_input' op grad has shape [2, 8, 6], expected [2, 7, 6]}}
  %y = hone.conv_bwd_input %g, %w strides [1] low [0] high [0] dilations [1] : tensor<2x8x6xf32>, tensor<3x4x6xf32> -> tensor<2x9x4xf32>
  return
}

// -----

func.func @conv_bwd_input_c1_groups(%g: tensor<2x7x6xf32>, %w: tensor<3x3x6xf32>) {
  // expected-error@+1 {{'hone.conv_bwd_input' op weight takes 3 channels per group, expected a divisor of 4}}
  %y = hone.conv_bwd_input %g, %w strides [1] low [0] high [0] dilations [1] : tensor<2x7x6xf32>, tensor<3x3x6xf32> -> tensor<2x9x4xf32>
  return
}
