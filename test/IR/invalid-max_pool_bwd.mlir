// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @max_pool_bwd_c1(%g: tensor<2x4x4xf32>, %t: tensor<2x3x4xi32>) {
  // expected-error@+1 {{'hone.max_pool_bwd' op taps has shape [2, 3, 4], expected [2, 4, 4]}}
  %x = hone.max_pool_bwd %g, %t sizes [3] strides [2] low [0] high [0] dilations [1] : tensor<2x4x4xf32>, tensor<2x3x4xi32> -> tensor<2x9x4xf32>
  return
}
