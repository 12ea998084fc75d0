// In 16 bits the weights and their gradients are rounded, which the op as a whole is not in the interpreter: results are off
// by at most twice what rounding them alone costs (the bound of the fused kernels, docs/rationale/attention.md).
// RUN: hone-opt %s --hone-decompose-attention -o %t
// RUN: hone-run --compare %s %t --args 3 --rmse 2 --floor 1e-3
// REQUIRES: hone-run

func.func @bf16(%q: tensor<2x33x6x8xbf16>, %k: tensor<2x33x2x8xbf16>, %v: tensor<2x33x2x8xbf16>,
                %g: tensor<2x33x6x8xbf16>)
    -> (tensor<2x33x6x8xbf16>, tensor<2x6x33xf32>, tensor<2x33x6x8xbf16>, tensor<2x33x2x8xbf16>,
        tensor<2x33x2x8xbf16>) {
  %key = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %o, %l = hone.attention %q, %k, %v rng %key causal scale 0.35 dropout 0.1 salt 9
      : (tensor<2x33x6x8xbf16>, tensor<2x33x2x8xbf16>, tensor<2x33x2x8xbf16>, tensor<3xi64>)
      -> (tensor<2x33x6x8xbf16>, tensor<2x6x33xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l rng %key causal scale 0.35 dropout 0.1 salt 9
      : (tensor<2x33x6x8xbf16>, tensor<2x33x6x8xbf16>, tensor<2x33x2x8xbf16>, tensor<2x33x2x8xbf16>,
         tensor<2x33x6x8xbf16>, tensor<2x6x33xf32>, tensor<3xi64>)
      -> (tensor<2x33x6x8xbf16>, tensor<2x33x2x8xbf16>, tensor<2x33x2x8xbf16>)
  return %o, %l, %dq, %dk, %dv
      : tensor<2x33x6x8xbf16>, tensor<2x6x33xf32>, tensor<2x33x6x8xbf16>, tensor<2x33x2x8xbf16>, tensor<2x33x2x8xbf16>
}

func.func @f16(%q: tensor<2x33x6x8xf16>, %k: tensor<2x33x2x8xf16>, %v: tensor<2x33x2x8xf16>,
                %g: tensor<2x33x6x8xf16>)
    -> (tensor<2x33x6x8xf16>, tensor<2x6x33xf32>, tensor<2x33x6x8xf16>, tensor<2x33x2x8xf16>,
        tensor<2x33x2x8xf16>) {
  %key = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %o, %l = hone.attention %q, %k, %v rng %key causal scale 0.35 dropout 0.1 salt 9
      : (tensor<2x33x6x8xf16>, tensor<2x33x2x8xf16>, tensor<2x33x2x8xf16>, tensor<3xi64>)
      -> (tensor<2x33x6x8xf16>, tensor<2x6x33xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l rng %key causal scale 0.35 dropout 0.1 salt 9
      : (tensor<2x33x6x8xf16>, tensor<2x33x6x8xf16>, tensor<2x33x2x8xf16>, tensor<2x33x2x8xf16>,
         tensor<2x33x6x8xf16>, tensor<2x6x33xf32>, tensor<3xi64>)
      -> (tensor<2x33x6x8xf16>, tensor<2x33x2x8xf16>, tensor<2x33x2x8xf16>)
  return %o, %l, %dq, %dk, %dv
      : tensor<2x33x6x8xf16>, tensor<2x6x33xf32>, tensor<2x33x6x8xf16>, tensor<2x33x2x8xf16>, tensor<2x33x2x8xf16>
}
