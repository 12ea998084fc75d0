// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @reduce_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.reduce' op dims is [1, 0], expected distinct dimensions below 2 in increasing order}}
  %s = hone.reduce sum %x dims [1, 0] : tensor<8x64xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c1_range(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.reduce' op dims is [2], expected distinct dimensions below 2 in increasing order}}
  %s = hone.reduce sum %x dims [2] : tensor<8x64xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.reduce' op result has shape [64], expected [8]}}
  %s = hone.reduce sum %x dims [1] : tensor<8x64xf32> -> tensor<64xf32>
  return
}

// -----

func.func @reduce_c2_element_type(%x: tensor<8x64xbf16>) {
  // expected-error@+1 {{'hone.reduce' op result has element type 'f32', expected 'bf16'}}
  %s = hone.reduce sum %x dims [1] : tensor<8x64xbf16> -> tensor<8xf32>
  return
}
