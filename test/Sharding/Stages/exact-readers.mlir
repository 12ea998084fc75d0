// Which gradients of a parameter that two stages read are added in the order of one rank: of two places, one in each
// stage, and no more.
// RUN: not hone-opt %s --dist-assign-stages="stages=2" --hone-autodiff --hone-build-step="micro-batches=2" --dist-split-stages 2>&1 \
// RUN:   | FileCheck %s
// CHECK: error: --exact: several stages read parameter 'table', and its gradients are added in another order than on one rank; expected at most two readers of it, in two stages, no axis pp, as in --mesh=tp=2 or fs=2, or no --exact: losses then agree within rounding

module attributes {hone.mesh_invariant, hone.target = "cpu znver4"} {
  func.func @forward(
      %table: tensor<16x32xf32> {hone.kind = "param", hone.fqn = "table", hone.requires_grad},
      %ids: tensor<8xi64> {hone.kind = "input", hone.fqn = "ids", hone.vocab = 16 : i64},
      %others: tensor<8xi64> {hone.kind = "input", hone.fqn = "others", hone.vocab = 16 : i64})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %a = hone.embedding %table, %ids : tensor<16x32xf32>, tensor<8xi64> -> tensor<8x32xf32>
    %b = hone.embedding %table, %others : tensor<16x32xf32>, tensor<8xi64> -> tensor<8x32xf32>
    %h = hone.mul %a, %b : tensor<8x32xf32>
    %logits = hone.dot_general %h, %table batch [] x [] contract [1] x [1] : tensor<8x32xf32>, tensor<16x32xf32> -> tensor<8x16xf32>
    %loss = hone.reduce sum %logits dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
