// Gradients of keys are terms of a sum, whether the ranks of an axis have other positions or other query heads of the one key head:
// what a reshape left open needs no decision.
// RUN: hone-opt %s --dist-verify -o /dev/null
dist.mesh @mesh [<"cp" = 3>]
func.func @f(%q: tensor<2x6x4xf32> {dist.sharding = #dist.sharding<{}, {"cp"}, {}>},
    %k: tensor<2x18x1x2xf32> {dist.sharding = #dist.sharding<{}, {}, {}, {}>})
    -> (tensor<2x6x1x2xf32> {dist.sharding = #dist.sharding<{}, {"cp"}, {}, {}>}) {
  %heads = hone.reshape %q : tensor<2x6x4xf32> -> tensor<2x6x2x2xf32>
  %y, %lse = hone.attention %heads, %k, %k scale 0.5
    : (tensor<2x6x2x2xf32>, tensor<2x18x1x2xf32>, tensor<2x18x1x2xf32>) -> (tensor<2x6x2x2xf32>, tensor<2x2x6xf32>)
  %dq, %dk, %dv = hone.attention_bwd %y, %heads, %k, %k, %y, %lse scale 0.5
    : (tensor<2x6x2x2xf32>, tensor<2x6x2x2xf32>, tensor<2x18x1x2xf32>, tensor<2x18x1x2xf32>, tensor<2x6x2x2xf32>, tensor<2x2x6xf32>)
    -> (tensor<2x6x2x2xf32>, tensor<2x18x1x2xf32>, tensor<2x18x1x2xf32>)
  %sum = dist.reduce_scatter sum %dk dim 1 over ["cp"] : tensor<2x18x1x2xf32> -> tensor<2x6x1x2xf32>
  return %sum : tensor<2x6x1x2xf32>
}
