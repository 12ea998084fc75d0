// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @conv_bwd_weight_c1(%x: tensor<2x9x4xf32>, %g: tensor<2x8x6xf32>) {
  // expected-error@+1 {{'hone.conv_bwd_weight' op grad has shape [2, 8, 6], expected [2, 7, 6]}}
  %y = hone.conv_bwd_weight %x, %g strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<2x8x6xf32> -> tensor<3x4x6xf32>
  return
}

// -----

func.func @conv_bwd_weight_c1_rank(%x: tensor<2x9x4xf32>, %g: tensor<2x7x6xf32>) {
  // expected-error@+1 {{'hone.conv_bwd_weight' op result has rank 2, expected 3, that of input}}
  %y = hone.conv_bwd_weight %x, %g strides [1] low [0] high [0] dilations [1] : tensor<2x9x4xf32>, tensor<2x7x6xf32> -> tensor<4x6xf32>
  return
}
