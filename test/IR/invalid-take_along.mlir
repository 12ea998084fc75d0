// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @take_along_c1(%x: tensor<32x8xf32>, %i: tensor<32x2xi64>) {
  // expected-error@+1 {{'hone.take_along' op dim is 2, expected a dimension of a tensor of rank 2}}
  %y = hone.take_along %x, %i dim 2 : tensor<32x8xf32>, tensor<32x2xi64> -> tensor<32x2xf32>
  return
}

// -----

func.func @take_along_c2(%x: tensor<32x8xf32>, %i: tensor<31x2xi64>) {
  // expected-error@+1 {{'hone.take_along' op ids has shape [31, 2], expected [32, 2]}}
  %y = hone.take_along %x, %i dim 1 : tensor<32x8xf32>, tensor<31x2xi64> -> tensor<31x2xf32>
  return
}

// -----

func.func @take_along_c2_rank(%x: tensor<32x8xf32>, %i: tensor<32xi64>) {
  // expected-error@+1 {{'hone.take_along' op ids has rank 1, expected 2}}
  %y = hone.take_along %x, %i dim 1 : tensor<32x8xf32>, tensor<32xi64> -> tensor<32xf32>
  return
}

// -----

func.func @take_along_c3(%x: tensor<32x8xf32>, %i: tensor<32x2xi64>) {
  // expected-error@+1 {{'hone.take_along' op result has shape [32, 3], expected [32, 2]}}
  %y = hone.take_along %x, %i dim 1 : tensor<32x8xf32>, tensor<32x2xi64> -> tensor<32x3xf32>
  return
}

// -----

func.func @take_along_c3_element(%x: tensor<32x8xf32>, %i: tensor<32x2xi64>) {
  // expected-error@+1 {{'hone.take_along' op result has element type 'i64', expected 'f32'}}
  %y = hone.take_along %x, %i dim 1 : tensor<32x8xf32>, tensor<32x2xi64> -> tensor<32x2xi64>
  return
}
