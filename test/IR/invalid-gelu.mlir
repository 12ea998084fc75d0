// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @gelu_c1(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{'hone.gelu' op all non-scalar operands/results must have the same shape and base type}}
  %y = "hone.gelu"(%x) {approximate = #hone<gelu erf>} : (tensor<8x64xf32>) -> tensor<64xf32>
  return
}
