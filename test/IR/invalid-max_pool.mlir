// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @max_pool_c1(%x: tensor<9x4xf32>) {
  // expected-error@+1 {{'hone.max_pool' op input has rank 2, expected at least 3: batch, spatial dimensions, channels}}
  %y, %t = hone.max_pool %x sizes [3] strides [2] low [0] high [0] dilations [1] : tensor<9x4xf32> -> tensor<2x4x4xf32>, tensor<2x4x4xi32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<2x9x4xf32>) {
  // expected-error@+1 {{'hone.max_pool' op sizes has 2 entries, expected 1, one per spatial dimension}}
  %y, %t = hone.max_pool %x sizes [3, 3] strides [2] low [0] high [0] dilations [1] : tensor<2x9x4xf32> -> tensor<2x4x4xf32>, tensor<2x4x4xi32>
  return
}

// -----

func.func @max_pool_c2_size(%x: tensor<2x9x4xf32>) {
  // expected-error@+1 {{'hone.max_pool' op sizes has the entry 0, expected at least 1}}
  %y, %t = hone.max_pool %x sizes [0] strides [2] low [0] high [0] dilations [1] : tensor<2x9x4xf32> -> tensor<2x4x4xf32>, tensor<2x4x4xi32>
  return
}

// -----

func.func @max_pool_c3(%x: tensor<2x9x4xf32>) {
  // expected-error@+1 {{'hone.max_pool' op result has shape [2, 5, 4], expected [2, 4, 4]}}
  %y, %t = hone.max_pool %x sizes [3] strides [2] low [0] high [0] dilations [1] : tensor<2x9x4xf32> -> tensor<2x5x4xf32>, tensor<2x4x4xi32>
  return
}

// -----

func.func @max_pool_c3_taps(%x: tensor<2x9x4xf32>) {
  // expected-error@+1 {{'hone.max_pool' op taps has shape [2, 4, 3], expected [2, 4, 4]}}
  %y, %t = hone.max_pool %x sizes [3] strides [2] low [0] high [0] dilations [1] : tensor<2x9x4xf32> -> tensor<2x4x4xf32>, tensor<2x4x3xi32>
  return
}

// -----

func.func @max_pool_c4(%x: tensor<2x9x4xf32>) {
  // expected-error@+1 {{'hone.max_pool' op window 0 of spatial dimension 0 holds padding alone, expected a position of the input}}
  %y, %t = hone.max_pool %x sizes [3] strides [2] low [4] high [0] dilations [1] : tensor<2x9x4xf32> -> tensor<2x6x4xf32>, tensor<2x6x4xi32>
  return
}
