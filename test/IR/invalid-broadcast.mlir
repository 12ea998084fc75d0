// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @broadcast_c1(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'hone.broadcast' op dims is [1, 0], expected distinct dimensions below 2 in increasing order}}
  %y = hone.broadcast %x dims [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c1_length(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.broadcast' op dims has 0 entries, expected 1}}
  %y = hone.broadcast %x dims [] : tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c1_range(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.broadcast' op dims is [2], expected distinct dimensions below 2 in increasing order}}
  %y = hone.broadcast %x dims [2] : tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<1xf32>) {
  // expected-error@+1 {{'hone.broadcast' op dimension 0 of the result has size 8, expected the operand's 1}}
  %y = hone.broadcast %x dims [0] : tensor<1xf32> -> tensor<8xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.broadcast' op operand has element type 'f32', expected 'bf16'}}
  %y = hone.broadcast %x dims [0] : tensor<8xf32> -> tensor<8x4xbf16>
  return
}
