// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @put_along_c1(%u: tensor<32x2xf32>, %i: tensor<32x2xi64>) {
  // expected-error@+1 {{'hone.put_along' op dim is 2, expected a dimension of a tensor of rank 2}}
  %y = hone.put_along sum %u, %i dim 2 : tensor<32x2xf32>, tensor<32x2xi64> -> tensor<32x8xf32>
  return
}

// -----

func.func @put_along_c2(%u: tensor<31x2xf32>, %i: tensor<31x2xi64>) {
  // expected-error@+1 {{'hone.put_along' op ids has shape [31, 2], expected [32, 2]}}
  %y = hone.put_along max %u, %i dim 1 : tensor<31x2xf32>, tensor<31x2xi64> -> tensor<32x8xf32>
  return
}

// -----

func.func @put_along_c3(%u: tensor<32x3xf32>, %i: tensor<32x2xi64>) {
  // expected-error@+1 {{'hone.put_along' op updates has shape [32, 3], expected [32, 2]}}
  %y = hone.put_along sum %u, %i dim 1 : tensor<32x3xf32>, tensor<32x2xi64> -> tensor<32x8xf32>
  return
}

// -----

func.func @put_along_c3_element(%u: tensor<32x2xi32>, %i: tensor<32x2xi64>) {
  // expected-error@+1 {{'hone.put_along' op updates has element type 'i32', expected 'f32'}}
  %y = hone.put_along sum %u, %i dim 1 : tensor<32x2xi32>, tensor<32x2xi64> -> tensor<32x8xf32>
  return
}
