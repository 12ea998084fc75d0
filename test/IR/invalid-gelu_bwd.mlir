// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @gelu_bwd_c1(%g: tensor<8x64xf32>, %x: tensor<8x32xf32>) {
  // expected-error@+1 {{'hone.gelu_bwd' op all non-scalar operands/results must have the same shape and base type}}
  %d = "hone.gelu_bwd"(%g, %x) {approximate = #hone<gelu erf>}
      : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<8x64xf32>
  return
}
