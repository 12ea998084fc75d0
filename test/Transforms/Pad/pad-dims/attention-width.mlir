// Widths of heads that no reshape splits off: scores and results are those of 6 columns.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} causal scale 4.082500e-01 : (tensor<1x5x2x8xf32>
func.func @forward(%q: tensor<2x6x8xf32> {hone.kind = "param", hone.fqn = "q", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %k: tensor<2x6x8xf32> {hone.kind = "param", hone.fqn = "k", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}},
    %v: tensor<2x6x8xf32> {hone.kind = "param", hone.fqn = "v", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<1x5x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %q batch [] x [] contract [2] x [2] : tensor<1x5x8xf32>, tensor<2x6x8xf32> -> tensor<1x5x2x6xf32>
  %b = hone.dot_general %x, %k batch [] x [] contract [2] x [2] : tensor<1x5x8xf32>, tensor<2x6x8xf32> -> tensor<1x5x2x6xf32>
  %c = hone.dot_general %x, %v batch [] x [] contract [2] x [2] : tensor<1x5x8xf32>, tensor<2x6x8xf32> -> tensor<1x5x2x6xf32>
  %o, %l = hone.attention %a, %b, %c causal scale 0.40825
      : (tensor<1x5x2x6xf32>, tensor<1x5x2x6xf32>, tensor<1x5x2x6xf32>) -> (tensor<1x5x2x6xf32>, tensor<1x2x5xf32>)
  %e = hone.mul %o, %o : tensor<1x5x2x6xf32>
  %loss = hone.reduce sum %e dims [0, 1, 2, 3] : tensor<1x5x2x6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
