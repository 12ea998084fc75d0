// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @dequantize_c1(%c: tensor<i8>, %s: tensor<f32>) {
  // expected-error@+1 {{'hone.dequantize' op result has rank 0, expected at least 1}}
  %w = hone.dequantize int8 %c scales %s block 1 : tensor<i8>, tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @dequantize_c2(%c: tensor<8x63xi8>, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'hone.dequantize' op codes has shape [8, 63], expected [8, 64]}}
  %w = hone.dequantize int8 %c scales %s block 64 : tensor<8x63xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
  return
}

// -----

func.func @dequantize_c2_nf4(%c: tensor<8x2xi8>, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'hone.dequantize' op codes has shape [8, 2], expected [8, 3]}}
  %w = hone.dequantize nf4 %c scales %s block 64 : tensor<8x2xi8>, tensor<8x1xf32> -> tensor<8x5xf32>
  return
}

// -----

func.func @dequantize_c3(%c: tensor<8x64xi8>, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'hone.dequantize' op block is 0, expected at least 1}}
  %w = hone.dequantize int8 %c scales %s block 0 : tensor<8x64xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
  return
}

// -----

func.func @dequantize_c4(%c: tensor<8x64xi8>, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'hone.dequantize' op scales has shape [8, 1], expected [8, 2]}}
  %w = hone.dequantize int8 %c scales %s block 63 : tensor<8x64xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
  return
}
