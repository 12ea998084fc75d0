// --short prints text for reading. Without it, the head of a function is one line with all that a run needs.
// RUN: hone-opt %s | FileCheck %s --check-prefix=LONG
// LONG: module attributes {hone.fingerprint = "45a4", hone.micro_batches = 1 : i64, hone.model = "m", hone.optimizer =
// LONG: func.func @"f("(%arg0: {{.*}}hone.init = {{.*}}, %arg1: {{.*}}) -> (tensor<8xf32> {{.*}}, tensor<f32> {{.*}}) {

// RUN: hone-opt %s --short > %t.mlir
// RUN: FileCheck %s --match-full-lines --strict-whitespace < %t.mlir
// It is the same program: its text parses, and ops have not changed.
// RUN: hone-opt %t.mlir --short | cmp - %t.mlir
// RUN: hone-run --compare %s %t.mlir --args 1 --bitwise
// RUN: not hone-opt %s --short --emit-bytecode 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: error: --short: is text for reading, expected no --emit-bytecode beside it

// After all passes, in each phase.
// RUN: hone-opt %fixtures/gpt2_tiny.hone/graph.mlir --hone-pipeline="upto=plan" --short | FileCheck %s --check-prefix=PLAN
// PLAN: module attributes {hone.crossing_attentions = 2 : i64, hone.model = "gpt2_tiny"} {
// PLAN: plan.argument "wpe.weight" kind "param" at {{[0-9]+}} : tensor<16x24xf32>{{$}}

//      CHECK:module attributes {hone.model = "m"} {
// CHECK-NEXT:  func.func @"f("(
// CHECK-NEXT:      %arg0: tensor<8xf32> {hone.fqn = "w, (\22", hone.kind = "param", hone.requires_grad},
// CHECK-NEXT:      %arg1: tensor<8xf32> {hone.fqn = "x", hone.kind = "input", test.map = affine_map<(d0, d1) -> (d1, d0)>}) -> (
// CHECK-NEXT:      tensor<8xf32> {hone.fqn = "y", hone.kind = "buffer"},
// CHECK-NEXT:      tensor<f32> {hone.kind = "loss"}) {
// CHECK-NEXT:    %mul = hone.mul %arg0, %arg1 : tensor<8xf32>
//      CHECK:  func.func private @one(tensor<8xf32>) -> tensor<8xf32>
module attributes {hone.fingerprint = "45a4", hone.micro_batches = 1 : i64, hone.model = "m",
                   hone.optimizer = {name = "sgd", lr = 1.0e-3}, hone.precision = "fp32", hone.version = 2 : i64} {
  func.func @"f("(%w: tensor<8xf32> {hone.fqn = "w, (\22", hone.init = {dist = "constant", value = 1.0},
                                     hone.kind = "param", hone.param_group = 0, hone.requires_grad},
                  %x: tensor<8xf32> {hone.fqn = "x", hone.kind = "input",
                                     test.map = affine_map<(d0, d1) -> (d1, d0)>})
      -> (tensor<8xf32> {hone.fqn = "y", hone.kind = "buffer"}, tensor<f32> {hone.kind = "loss"}) {
    %y = hone.mul %w, %x : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    return %y, %loss : tensor<8xf32>, tensor<f32>
  }
  func.func private @one(tensor<8xf32>) -> tensor<8xf32>
}
