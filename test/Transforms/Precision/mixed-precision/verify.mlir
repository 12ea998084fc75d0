// RUN: hone-opt %s --hone-verify-precision --verify-diagnostics --split-input-file

// expected-error@+1 {{has no function @forward}}
module attributes {hone.precision = "bf16"} {
}

// -----

// expected-error@+1 {{has hone.precision 'fp9', expected fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8}}
module attributes {hone.precision = "fp9"} {
  func.func @forward(%x: tensor<f32>) -> (tensor<f32> {hone.kind = "loss"}) {
    return %x : tensor<f32>
  }
}

// -----

module attributes {hone.precision = "bf16"} {
  func.func @forward(%w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-error@+1 {{reads f32 operand 0, expected 'bf16'}}
    %y = hone.dot_general %w, %w batch [] x [] contract [0] x [0] : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

module attributes {hone.precision = "fp16"} {
  func.func @forward(%w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %c = hone.cast %w : tensor<4xf32> -> tensor<4xf16>
    // expected-error@+1 {{reads 'f16' operand 0, expected f32}}
    %y = hone.reduce sum %c dims [0] : tensor<4xf16> -> tensor<f16>
    %l = hone.cast %y : tensor<f16> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {hone.precision = "bf16"} {
  // expected-error@+1 {{returns a loss of type 'tensor<bf16>', expected f32}}
  func.func @forward(%w: tensor<bf16> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<bf16> {hone.kind = "loss"}) {
    return %w : tensor<bf16>
  }
}

// -----

// f32 contractions are what tf32 asks for, and those of tables are left f32.
module attributes {hone.precision = "tf32"} {
  func.func @forward(%w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %y = hone.dot_general %w, %w batch [] x [] contract [0] x [0] : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

module attributes {hone.precision = "bf16"} {
  func.func @forward(%w: tensor<16x16xbf16> {hone.kind = "param", hone.fqn = "w"}, %l: tensor<f32>)
      -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-error@+1 {{is marked #hone.quantized<tensor, weight x activation>, expected none: hone.precision is no policy of fp8}}
    %y = hone.dot_general %w, %w batch [] x [] contract [0] x [0] quantized <tensor, weight x activation>
        : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    return %l : tensor<f32>
  }
}

// -----

module attributes {hone.precision = "mxfp8"} {
  func.func @forward(%w: tensor<16x16xbf16> {hone.kind = "param", hone.fqn = "w"}, %l: tensor<f32>)
      -> (tensor<f32> {hone.kind = "loss"}) {
    // expected-error@+1 {{is marked #hone.quantized<mx, weight x gradient>, expected an activation and a weight}}
    %y = hone.dot_general %w, %w batch [] x [] contract [0] x [0] quantized <mx, weight x gradient>
        : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    return %l : tensor<f32>
  }
}
