// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s

// The backward part recomputes a table of a constant buffer alone. One of a buffer that micro-batches change, and one
// of a parameter, are kept for each micro-batch; so is one of a buffer that another function changes (OTHER).
// RUN: sed -e 's/"other"/"constant"/' %s \
// RUN:   | hone-opt --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s --check-prefix=OTHER
// OTHER-LABEL: func.func @forward(
// OTHER-SAME: hone.fqn = "saved.2", hone.kind = "saved"
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[CONSTANT:[^ ]*]]: tensor<8xf32> {hone.fqn = "constant", hone.kind = "buffer"}
// CHECK-SAME: hone.fqn = "saved.0", hone.kind = "saved"
// CHECK-SAME: hone.fqn = "saved.1", hone.kind = "saved"
// CHECK-NOT: hone.fqn = "saved.2"
// CHECK: hone.fused map ({{.*}} = %[[CONSTANT]] :
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[OWN:[^ ]*]]: tensor<8xf32> {hone.fqn = "constant", hone.kind = "buffer"}
// CHECK: %[[ROW:.*]] = hone.fused map ({{.*}} = %[[OWN]] : tensor<8xf32>) -> tensor<8xf32>
// CHECK: hone.fused data_movement ({{.*}} = %[[ROW]] : tensor<8xf32>) -> tensor<4x8xf32>
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64,
      dist.turns = {activation_out = 1 : i64, functions = ["forward", "backward"], gradient_in = 1 : i64, saved = 1 : i64}} {
    dist.mesh @mesh [<"pp" = 2>]
    func.func @accumulate(%x: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"},
        %w: tensor<8xf32> {hone.fqn = "w", hone.kind = "param"}, %sum: tensor<4x8xf32> {hone.fqn = "v", hone.kind = "grad"},
        %constant: tensor<8xf32> {hone.fqn = "constant", hone.kind = "buffer"},
        %running: tensor<8xf32> {hone.fqn = "running", hone.kind = "buffer"})
        -> (tensor<4x8xf32> {hone.donates = 2 : i64, hone.fqn = "v", hone.kind = "grad"},
            tensor<8xf32> {hone.donates = 4 : i64, hone.fqn = "running", hone.kind = "buffer"}) {
      %row = hone.fused map (%b0 = %constant : tensor<8xf32>) -> tensor<8xf32> {
        %s = hone.cos %b0 : tensor<8xf32>
        hone.yield %s : tensor<8xf32>
      }
      %table = hone.fused data_movement (%b0 = %row : tensor<8xf32>) -> tensor<4x8xf32> {
        %s = hone.broadcast %b0 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %changed = hone.fused map (%b0 = %running : tensor<8xf32>) -> tensor<8xf32> {
        %s = hone.cos %b0 : tensor<8xf32>
        hone.yield %s : tensor<8xf32>
      }
      %learned = hone.fused map (%b0 = %w : tensor<8xf32>) -> tensor<8xf32> {
        %s = hone.cos %b0 : tensor<8xf32>
        hone.yield %s : tensor<8xf32>
      }
      %h = hone.fused map (%b0 = %x : tensor<4x8xf32>, %b1 = %table : tensor<4x8xf32>, %b2 = %changed : tensor<8xf32>,
          %b3 = %learned : tensor<8xf32>) -> tensor<4x8xf32> {
        %b = hone.broadcast %b2 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
        %c = hone.broadcast %b3 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
        %m = hone.mul %b0, %b1 : tensor<4x8xf32>
        %n = hone.mul %m, %b : tensor<4x8xf32>
        %s = hone.mul %n, %c : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %g = hone.fused collective (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = dist.turn %b0 to 1 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %new = hone.fused map (%b0 = %sum : tensor<4x8xf32>, %b1 = %g : tensor<4x8xf32>, %b2 = %table : tensor<4x8xf32>,
          %b3 = %changed : tensor<8xf32>, %b4 = %learned : tensor<8xf32>) -> tensor<4x8xf32> {
        %b = hone.broadcast %b3 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
        %c = hone.broadcast %b4 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
        %m = hone.mul %b1, %b2 : tensor<4x8xf32>
        %n = hone.mul %m, %b : tensor<4x8xf32>
        %o = hone.mul %n, %c : tensor<4x8xf32>
        %s = hone.add %b0, %o : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %next = hone.fused map (%b0 = %running : tensor<8xf32>) -> tensor<8xf32> {
        %s = hone.add %b0, %b0 : tensor<8xf32>
        hone.yield %s : tensor<8xf32>
      }
      return %new, %next : tensor<4x8xf32>, tensor<8xf32>
    }
    func.func @update(%b: tensor<8xf32> {hone.fqn = "other", hone.kind = "buffer"})
        -> (tensor<8xf32> {hone.donates = 0 : i64, hone.fqn = "other", hone.kind = "buffer"}) {
      return %b : tensor<8xf32>
    }
  }
}
