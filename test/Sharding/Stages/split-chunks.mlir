// A stage with several chunks has an @accumulate and an @evaluate for each, and one @update. Placed as a V, chunks 1 and 2
// are of one stage, and chunks 0 and 3, which both read "w": they share it, and add up gradients apart.
// RUN: hone-opt %s --dist-split-stages=schedule=zb-v | FileCheck %s
// RUN: hone-opt %s --dist-split-stages=schedule=interleaved=2 | FileCheck %s --check-prefix=LOOP
// RUN: not hone-opt %s --dist-split-stages=schedule=1f1b 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: sed 's/dist.chunks = 4/dist.chunks = 3/' %s | not hone-opt --dist-split-stages=schedule=zb-v 2>&1 | FileCheck %s --check-prefix=UNEVEN

// CHECK: module attributes {dist.chunks = 4 : i64, dist.schedule = "zb-v", dist.stages = 2 : i64
// CHECK: module @stage0 attributes {dist.stage = 0 : i64, dist.turns = [{{.*}}chunk = 0 : i64,
// CHECK-SAME: chunk = 3 : i64, functions = ["accumulate", "backward_weight"]
// CHECK: func.func @accumulate.0(%{{[^:]*}}: tensor<8xf32> {hone.fqn = "w", hone.kind = "param"},
// CHECK-SAME: {hone.fqn = "w", hone.kind = "grad"})
// CHECK: dist.turn %{{.*}} to 1
// CHECK: func.func @accumulate.3(%{{[^:]*}}: tensor<8xf32> {hone.fqn = "w", hone.kind = "param"},
// CHECK-SAME: {hone.fqn = "loss", hone.kind = "scalar"}
// CHECK-SAME: {hone.fqn = "chunk3", hone.kind = "boundary"}
// CHECK-SAME: {hone.fqn = "chunk3.w", hone.kind = "grad"})
// CHECK-SAME: {hone.fqn = "chunk3", hone.kind = "boundary"}
// CHECK-NOT: dist.turn
// CHECK: func.func @evaluate.0(
// CHECK-SAME: -> (tensor<8xf32> {hone.fqn = "chunk1", hone.kind = "boundary"})
// CHECK: func.func @evaluate.3(
// CHECK-SAME: {hone.fqn = "chunk3", hone.kind = "boundary"}) -> (tensor<f32> {hone.kind = "loss"})
// CHECK: func.func @update(
// CHECK-SAME: %[[OWN:[^:]*]]: tensor<8xf32> {hone.fqn = "w", hone.kind = "grad"},
// CHECK-SAME: %[[OTHER:[^:]*]]: tensor<8xf32> {hone.fqn = "chunk3.w", hone.kind = "grad"},
// CHECK: hone.add %[[OWN]], %[[OTHER]]
// CHECK-NOT: func.func
// CHECK: module @stage1
// CHECK: func.func @accumulate.1(
// CHECK: dist.turn %{{.*}} to 2
// CHECK: func.func @accumulate.2(
// CHECK-SAME: {hone.fqn = "chunk2", hone.kind = "boundary"}
// CHECK: dist.turn %{{.*}} to 3
// CHECK: func.func @update(%{{[^:]*}}: tensor<f32> {hone.fqn = "loss", hone.kind = "scalar"})

// LOOP: module @stage0
// LOOP: func.func @accumulate.0(
// LOOP: func.func @accumulate.2(
// LOOP: func.func @update(
// LOOP: module @stage1
// LOOP: func.func @accumulate.1(
// LOOP: func.func @accumulate.3(%{{[^:]*}}: tensor<8xf32> {hone.fqn = "w", hone.kind = "working_copy"}
// LOOP-SAME: {hone.fqn = "chunk3.w", hone.kind = "grad"}

// CHUNKS: error: schedule '1f1b' has 1 chunks per rank, expected 2
// UNEVEN: error: has 3 chunks (dist.chunks), expected as many in each of 2 stages
module attributes {dist.chunks = 4 : i64, dist.stages = 2 : i64, hone.micro_batches = 4 : i64} {
  func.func @accumulate(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"},
      %sum: tensor<8xf32> {hone.kind = "grad", hone.fqn = "w"},
      %losses: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<8xf32> {hone.kind = "grad", hone.fqn = "w", hone.donates = 2 : i64},
          tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 3 : i64}) {
    %h0 = hone.mul %w, %x : tensor<8xf32>
    %w3 = dist.boundary %w of "w" from 0 to 3 : tensor<8xf32>
    %h1 = dist.boundary %h0 from 0 to 1 : tensor<8xf32>
    %y1 = hone.neg %h1 : tensor<8xf32>
    %h2 = dist.boundary %y1 from 1 to 2 : tensor<8xf32>
    %y2 = hone.neg %h2 : tensor<8xf32>
    %h3 = dist.boundary %y2 from 2 to 3 : tensor<8xf32>
    %y3 = hone.mul %h3, %w3 : tensor<8xf32>
    %loss = hone.reduce sum %y3 dims [0] : tensor<8xf32> -> tensor<f32>
    %new_loss = hone.add %losses, %loss : tensor<f32>
    %one = hone.constant dense<1.0> : tensor<8xf32>
    %g3 = hone.mul %one, %w3 : tensor<8xf32>
    %gw3 = hone.mul %one, %h3 : tensor<8xf32>
    %b3 = dist.boundary %g3 from 3 to 2 : tensor<8xf32>
    %g2 = hone.neg %b3 : tensor<8xf32>
    %b2 = dist.boundary %g2 from 2 to 1 : tensor<8xf32>
    %g1 = hone.neg %b2 : tensor<8xf32>
    %b1 = dist.boundary %g1 from 1 to 0 : tensor<8xf32>
    %gw0 = hone.mul %b1, %x : tensor<8xf32>
    %gw30 = dist.boundary %gw3 of "w" from 3 to 0 : tensor<8xf32>
    %gw = hone.add %gw30, %gw0 : tensor<8xf32>
    %new = hone.add %sum, %gw : tensor<8xf32>
    return %new, %new_loss : tensor<8xf32>, tensor<f32>
  }
  func.func @evaluate(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %h0 = hone.mul %w, %x : tensor<8xf32>
    %w3 = dist.boundary %w of "w" from 0 to 3 : tensor<8xf32>
    %h1 = dist.boundary %h0 from 0 to 1 : tensor<8xf32>
    %y1 = hone.neg %h1 : tensor<8xf32>
    %h2 = dist.boundary %y1 from 1 to 2 : tensor<8xf32>
    %y2 = hone.neg %h2 : tensor<8xf32>
    %h3 = dist.boundary %y2 from 2 to 3 : tensor<8xf32>
    %y3 = hone.mul %h3, %w3 : tensor<8xf32>
    %loss = hone.reduce sum %y3 dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func @update(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %g: tensor<8xf32> {hone.kind = "grad", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
          tensor<f32> {hone.kind = "grad_norm"}) {
    %norm = hone.global_norm %g : (tensor<8xf32>) -> tensor<f32>
    return %g, %norm : tensor<8xf32>, tensor<f32>
  }
}
