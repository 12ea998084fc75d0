// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @grouped_dot_bwd_weight_c1(%a: tensor<6x3xf32>, %b: tensor<5x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot_bwd_weight' op rhs has 5 rows, expected 6, those of lhs}}
  %y = hone.grouped_dot_bwd_weight %a, %b, %e : tensor<6x3xf32>, tensor<5x4xf32>, tensor<2xi64> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @grouped_dot_bwd_weight_c1_rank(%a: tensor<6x3xf32>, %b: tensor<6x4xf32>, %e: tensor<1x2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot_bwd_weight' op ends has rank 2, expected 1}}
  %y = hone.grouped_dot_bwd_weight %a, %b, %e : tensor<6x3xf32>, tensor<6x4xf32>, tensor<1x2xi64> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @grouped_dot_bwd_weight_c2(%a: tensor<6x3xf32>, %b: tensor<6x4xf32>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot_bwd_weight' op result has shape [2, 4, 3], expected [2, 3, 4]}}
  %y = hone.grouped_dot_bwd_weight %a, %b, %e : tensor<6x3xf32>, tensor<6x4xf32>, tensor<2xi64> -> tensor<2x4x3xf32>
  return
}

// -----

func.func @grouped_dot_bwd_weight_c3(%a: tensor<6x3xf32>, %b: tensor<6x4xbf16>, %e: tensor<2xi64>) {
  // expected-error@+1 {{'hone.grouped_dot_bwd_weight' op rhs has element type 'bf16', expected 'f32'}}
  %y = hone.grouped_dot_bwd_weight %a, %b, %e : tensor<6x3xf32>, tensor<6x4xbf16>, tensor<2xi64> -> tensor<2x3x4xf32>
  return
}
