// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK: module attributes {hone.model = "tiny", hone.optimizer = {lr = 1.000000e-03 : f64, name = "adamw"}, hone.version = 2 : i64}
module attributes {hone.version = 2 : i64, hone.model = "tiny", hone.optimizer = {name = "adamw", lr = 1.0e-03 : f64}} {
  // CHECK: %{{.+}}: tensor<8x64xf32> {hone.aliases = ["head.weight"], hone.fqn = "wte.weight",
  // CHECK-SAME: hone.init = {dist = "normal", mean = 0.000000e+00 : f64, std = 2.000000e-02 : f64}, hone.kind = "param", hone.param_group = 0 : i64, hone.requires_grad}
  // CHECK-SAME: %{{.+}}: tensor<64xf32> {hone.fqn = "mask", hone.init = {dist = "file"}, hone.kind = "buffer"}
  // CHECK-SAME: %{{.+}}: tensor<4xi64> {hone.fqn = "tokens", hone.kind = "input", hone.role = "tokens", hone.vocab = 8 : i64}
  // CHECK-SAME: -> (tensor<8x64xf32> {hone.donates = 0 : i64, hone.fqn = "wte.weight", hone.kind = "param"},
  // CHECK-SAME: tensor<f32> {hone.kind = "loss"})
  func.func @step(
      %w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "wte.weight", hone.aliases = ["head.weight"],
                            hone.requires_grad, hone.param_group = 0 : i64,
                            hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
      %m: tensor<64xf32> {hone.kind = "buffer", hone.fqn = "mask", hone.init = {dist = "file"}},
      %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "tokens", hone.role = "tokens", hone.vocab = 8 : i64},
      %k: tensor<3xi64> {hone.kind = "rng", hone.fqn = "rng"},
      %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
      -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "wte.weight", hone.donates = 0 : i64},
          tensor<f32> {hone.kind = "loss"}) {
    return %w, %lr : tensor<8x64xf32>, tensor<f32>
  }
}
