// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns))" | FileCheck %s
// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns,hone-overlap-collectives{always=true}))" \
// RUN:   | FileCheck %s --check-prefix=HIDE
// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns,hone-plan-memory))" | FileCheck %s --check-prefix=PLAN
// RUN: sed 's/overlaps = array<i64: 0>, //' %s | hone-opt --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns))" \
// RUN:   | FileCheck %s --check-prefix=APART
// RUN: sed 's/@backward/@backwards/' %s | not hone-opt --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// RUN: sed 's/overlaps = array<i64: 0>/overlaps = array<i64: 5>/' %s \
// RUN:   | not hone-opt --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns))" 2>&1 | FileCheck %s --check-prefix=NO-CHUNK
// RUN: sed 's/functions = \["forward", "backward"\]/functions = ["accumulate"]/' %s \
// RUN:   | not hone-opt --pass-pipeline="builtin.module(builtin.module(hone-overlap-turns))" 2>&1 | FileCheck %s --check-prefix=AT-ONCE

// The weight is one argument, the count that both add to as well: what the forward part makes of it is what the backward part reads.
// What is saved is two arguments, since it is of two micro-batches. Each part begins its sum; while one travels, the other computes.
// CHECK-LABEL: func.func @overlap(
// CHECK-SAME: %[[X:.*]]: tensor<256x512xf32> {hone.fqn = "x", hone.kind = "input"}
// CHECK-SAME: %[[W:.*]]: tensor<512x512xf32> {hone.fqn = "w", hone.kind = "param"}
// CHECK-SAME: %[[COUNT:.*]]: tensor<1xf32> {hone.fqn = "count", hone.kind = "scalar"}
// CHECK-SAME: tensor<256x512xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-SAME: %[[G:.*]]: tensor<256x512xf32> {dist.window = 1 : i64, hone.fqn = "stage1.grad", hone.kind = "boundary", plan.beside}
// CHECK-SAME: %[[SAVED:.*]]: tensor<256x512xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved", plan.beside}
// CHECK-SAME: %[[SUM:.*]]: tensor<512x512xf32> {hone.fqn = "w", hone.kind = "grad"}
// CHECK-SAME: -> (tensor<256x512xf32> {hone.donates = 3 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-SAME: tensor<1xf32> {hone.donates = 2 : i64, hone.fqn = "count", hone.kind = "scalar"}
// CHECK-SAME: tensor<512x512xf32> {hone.donates = 6 : i64, hone.fqn = "w", hone.kind = "grad"})
// CHECK: %[[H:.*]] = hone.fused contraction (%{{.*}} = %[[G]]
// CHECK: %[[S:.*]] = hone.fused collective (%{{.*}} = %[[H]]
// CHECK: %[[Y:.*]] = hone.fused contraction (%{{.*}} = %[[X]]
// CHECK: hone.fused collective (%{{.*}} = %[[Y]]
// CHECK: hone.fused contraction (%{{.*}} = %[[SAVED]] : {{.*}}, %{{.*}} = %[[S]]
// CHECK: %[[ONE:.*]] = hone.fused map (%{{.*}} = %[[COUNT]]
// CHECK: hone.fused map (%{{.*}} = %[[ONE]]

// HIDE-LABEL: func.func @overlap(
// HIDE: all_reduce sum %{{.*}} over ["tp"] async
// HIDE: hone.fused contraction
// HIDE: all_reduce sum %{{.*}} over ["tp"] async
// HIDE: dist.wait

// Instance 0 is the forward part's, instance 1 the backward part's, 512 KiB behind it.
// PLAN: plan.argument "saved.0" kind "saved" at [[#AT:]] window 2
// PLAN: plan.function @overlap
// PLAN: %[[SAVED:.*]] = plan.buffer at [[#AT+524288]] : memref<256x512xf32>
// PLAN: plan.launch contraction ins(%[[SAVED]], {{.*}} : memref<256x512xf32>, memref<256x512xf32>, memref<512x512xf32>)
// PLAN: %[[KEPT:.*]] = plan.buffer at [[#AT]] : memref<256x512xf32>
// PLAN: plan.launch map {{.*}} outs(%[[KEPT]] : memref<256x512xf32>)

// APART-NOT: @overlap
// NO-CHUNK: error: overlaps chunk 5, which the stage does not have
// AT-ONCE: error: overlaps chunk 0, which turns at once, expected a backward part
// MISSING: error: has no function @backward, expected those that hone-split-turns makes
module attributes {dist.stages = 2 : i64, hone.target = "cuda sm_90"} {
  module @stage0 attributes {dist.stage = 0 : i64, hone.target = "cuda sm_90",
      dist.turns = {functions = ["forward", "backward"], gradient_in = 1 : i64, overlapped, overlaps = array<i64: 0>, saved = 2 : i64}} {
    dist.mesh @mesh [<"pp" = 2>, <"tp" = 2>]
    func.func @forward(%x: tensor<256x512xf32> {hone.fqn = "x", hone.kind = "input"},
        %w: tensor<512x512xf32> {hone.fqn = "w", hone.kind = "param"}, %count: tensor<1xf32> {hone.fqn = "count", hone.kind = "scalar"},
        %saved: tensor<256x512xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"})
        -> (tensor<256x512xf32> {hone.donates = 3 : i64, hone.fqn = "saved.0", hone.kind = "saved"},
            tensor<1xf32> {hone.donates = 2 : i64, hone.fqn = "count", hone.kind = "scalar"}) {
      %y = hone.fused contraction (%b0 = %x : tensor<256x512xf32>, %b1 = %w : tensor<512x512xf32>) -> tensor<256x512xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0] : tensor<256x512xf32>, tensor<512x512xf32> -> tensor<256x512xf32>
        hone.yield %s : tensor<256x512xf32>
      }
      %t = hone.fused collective (%b0 = %y : tensor<256x512xf32>) -> tensor<256x512xf32> {
        %s = dist.all_reduce sum %b0 over ["tp"] : tensor<256x512xf32>
        hone.yield %s : tensor<256x512xf32>
      }
      %n = hone.fused map (%b0 = %t : tensor<256x512xf32>) -> tensor<256x512xf32> {
        %s = hone.neg %b0 : tensor<256x512xf32>
        hone.yield %s : tensor<256x512xf32>
      }
      %one = hone.fused map (%b0 = %count : tensor<1xf32>) -> tensor<1xf32> {
        %s = hone.exp %b0 : tensor<1xf32>
        hone.yield %s : tensor<1xf32>
      }
      return %n, %one : tensor<256x512xf32>, tensor<1xf32>
    }
    func.func @backward(%g: tensor<256x512xf32> {dist.window = 1 : i64, hone.fqn = "stage1.grad", hone.kind = "boundary"},
        %w: tensor<512x512xf32> {hone.fqn = "w", hone.kind = "param"},
        %saved: tensor<256x512xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"},
        %count: tensor<1xf32> {hone.fqn = "count", hone.kind = "scalar"}, %sum: tensor<512x512xf32> {hone.fqn = "w", hone.kind = "grad"})
        -> (tensor<1xf32> {hone.donates = 3 : i64, hone.fqn = "count", hone.kind = "scalar"},
            tensor<512x512xf32> {hone.donates = 4 : i64, hone.fqn = "w", hone.kind = "grad"}) {
      %h = hone.fused contraction (%b0 = %g : tensor<256x512xf32>, %b1 = %w : tensor<512x512xf32>) -> tensor<256x512xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [1] : tensor<256x512xf32>, tensor<512x512xf32> -> tensor<256x512xf32>
        hone.yield %s : tensor<256x512xf32>
      }
      %t = hone.fused collective (%b0 = %h : tensor<256x512xf32>) -> tensor<256x512xf32> {
        %s = dist.all_reduce sum %b0 over ["tp"] : tensor<256x512xf32>
        hone.yield %s : tensor<256x512xf32>
      }
      %new = hone.fused contraction (%b0 = %saved : tensor<256x512xf32>, %b1 = %t : tensor<256x512xf32>, %b2 = %sum : tensor<512x512xf32>)
          -> tensor<512x512xf32> {
        %p = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0] : tensor<256x512xf32>, tensor<256x512xf32> -> tensor<512x512xf32>
        %s = hone.add %p, %b2 : tensor<512x512xf32>
        hone.yield %s : tensor<512x512xf32>
      }
      %two = hone.fused map (%b0 = %count : tensor<1xf32>) -> tensor<1xf32> {
        %s = hone.neg %b0 : tensor<1xf32>
        hone.yield %s : tensor<1xf32>
      }
      return %two, %new : tensor<1xf32>, tensor<512x512xf32>
    }
  }
}
