// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @grouped_dot_c1(%x: tensor<1x6x3xf32>, %w: tensor<2x3x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op input has rank 3, expected 2}}
  %y = hone.grouped_dot %x, %w, %e contract 1 : tensor<1x6x3xf32>, tensor<2x3x4xf32>, tensor<2xi64> -> tensor<6x4xf32>
  return
}

// -----

func.func @grouped_dot_c1_weight(%x: tensor<6x3xf32>, %w: tensor<3x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op weight has rank 2, expected 3}}
  %y = hone.grouped_dot %x, %w, %e contract 1 : tensor<6x3xf32>, tensor<3x4xf32>, tensor<2xi64> -> tensor<6x4xf32>
  return
}

// -----

func.func @grouped_dot_c2(%x: tensor<6x3xf32>, %w: tensor<2x3x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op contract is 0, expected 1 or 2}}
  %y = hone.grouped_dot %x, %w, %e contract 0 : tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi64> -> tensor<6x4xf32>
  return
}

// -----

func.func @grouped_dot_c2_width(%x: tensor<6x3xf32>, %w: tensor<2x3x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op dimension 2 of weight has size 4, expected 3, the width of input}}
  %y = hone.grouped_dot %x, %w, %e contract 2 : tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi64> -> tensor<6x4xf32>
  return
}

// -----

func.func @grouped_dot_c3(%x: tensor<6x3xf32>, %w: tensor<2x3x4xf32>, %e: tensor<3xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op ends has shape [3], expected [2]}}
  %y = hone.grouped_dot %x, %w, %e contract 1 : tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<3xi64> -> tensor<6x4xf32>
  return
}

// -----

func.func @grouped_dot_c4(%x: tensor<6x3xf32>, %w: tensor<2x3x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op result has shape [6, 3], expected [6, 4]}}
  %y = hone.grouped_dot %x, %w, %e contract 1 : tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi64> -> tensor<6x3xf32>
  return
}

// -----

func.func @grouped_dot_c5(%x: tensor<6x3xf32>, %w: tensor<2x3x4xbf16>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot' op weight has element type 'bf16', expected 'f32'}}
  %y = hone.grouped_dot %x, %w, %e contract 1 : tensor<6x3xf32>, tensor<2x3x4xbf16>, tensor<2xi64> -> tensor<6x4xf32>
  return
}
