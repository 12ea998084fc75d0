// RUN: hone-opt %s --split-input-file --dist-annotate="mesh=dp=2,cp=4 context=gather" | FileCheck %s
// RUN: hone-opt %s --split-input-file --dist-annotate="mesh=dp=2,cp=2,tp=2 context=heads" | FileCheck %s --check-prefix=HEADS
// RUN: not hone-opt %s --split-input-file --dist-annotate="mesh=cp=3" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: not hone-opt %s --split-input-file --dist-annotate="mesh=cp=8 context=heads" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not hone-opt %s --split-input-file --dist-annotate="mesh=cp=2 context=rings" 2>&1 | FileCheck %s --check-prefix=HOW
// RUN: hone-opt %s --split-input-file --dist-annotate="mesh=dp=2,cp=2,tp=2 context=ring" | FileCheck %s --check-prefix=RING
// RUN: hone-opt %s --split-input-file --dist-annotate="mesh=cp=8 report" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT

// Positions of inputs in two runs per rank; gradients are partial sums over the axis too.
// CHECK-LABEL: @accumulate
// CHECK-SAME: tensor<64x64xf32> {dist.sharding = #dist.sharding<{}, {}>, hone.fqn = "w", hone.kind = "param"}
// CHECK-SAME: tensor<64x64xf32> {dist.sharding = #dist.sharding<{}, {} partial sum ["dp", "cp"]>, hone.fqn = "w", hone.kind = "grad"}
// CHECK-SAME: tensor<4x16xi64> {dist.sharding = #dist.sharding<{"dp"}, {"cp" cuts [8] snake}>, hone.fqn = "tokens"
// CHECK-SAME: tensor<4x1x16x16xf32> {dist.sharding = #dist.sharding<{"dp"}, {}, {"cp" cuts [8] snake}, {}>, hone.fqn = "mask"
// CHECK-SAME: tensor<4xf32> {dist.sharding = #dist.sharding<{"dp"}>, hone.fqn = "weights"
// CHECK-NOT: dist.constrain
// The loss reads batch and positions apart.
// CHECK: %[[TARGETS:.*]] = hone.reshape %{{.*}} : tensor<64xi64> -> tensor<4x16xi64>
// CHECK: %{{.*}}, %[[LSE:.*]] = hone.cross_entropy{{ +}}mean %[[LOGITS:.*]], %[[TARGETS]] {{.*}} : tensor<4x16x64xf32>, tensor<4x16xi64> -> tensor<f32>, tensor<4x16xf32>
// CHECK: %[[GRAD:.*]] = hone.cross_entropy_bwd{{ +}}mean %{{.*}}, %[[LOGITS]], %{{.*}}, %[[LSE]] {{.*}} -> tensor<4x16x64xf32>
// CHECK: hone.dot_general %{{.*}}, %[[GRAD]]

// Heads of attention along tp and cp; positions before and after.
// HEADS-LABEL: @accumulate
// HEADS: %[[Q:.*]] = dist.constrain %{{.*}} to <{"dp"}, {}, {"tp", "cp"} p1, {}> : tensor<4x16x8x8xf32>
// HEADS: %[[O:.*]], %{{.*}} = hone.attention %[[Q]], %[[Q]], %[[Q]]
// HEADS: %[[OWN:.*]] = dist.constrain %[[O]] to <{"dp"}, {}, {"tp", "cp"} p1, {}>
// HEADS: %[[BACK:.*]] = dist.constrain %[[OWN]] to <{"dp"}, {"cp" cuts [8] snake}, {"tp"} p1, {}>
// HEADS: hone.reshape %[[BACK]]

// UNEVEN: error: input 'tokens' has 16 positions, expected a multiple of 6, two runs for each of the 3 ranks along axis cp: choose another cp, or export the model with another length
// FEW: error: 'hone.attention' op has 4 key heads, expected a multiple of 8, the ranks along cp and tp together: type --recipe=cp-gather, which needs no heads, or a smaller cp
// HOW: error: context is 'rings', expected gather, heads, ring or auto

// RING-LABEL: @accumulate
// RING-NOT: dist.constrain
// RING: %[[O:.*]], %{{.*}} = dist.ring_attention %[[Q:.*]], %[[Q]], %[[Q]] over ["cp"] scale 1.000000e+00
// RING-NEXT: hone.reshape %[[O]]

// Shards of Q, K and V are of 4 x 2 x 8 x 8 numbers, 2 KiB. Each rank gathers keys and values twice and scatters their
// gradients: 6 x 7 x 2 KiB; the ring sends as much. Gathered, keys, values and a gradient of each are 4 x 8 x 2 KiB. The
// ring is within a tenth of the time and holds less. In the second function heads are too few, and keys half as many.
// REPORT: remark: attention along axis cp: takes cp-ring (cp-gather {{[0-9.]+}} ms, sends 84.00 KiB, holds 64.00 KiB; cp-heads {{[0-9.]+}} ms, sends 14.00 KiB, holds 16.00 KiB; cp-ring {{[0-9.]+}} ms, sends 84.00 KiB, holds 34.00 KiB)
// REPORT: remark: attention along axis cp: takes cp-ring (cp-gather {{[0-9.]+}} ms, sends 42.00 KiB, holds 32.00 KiB; cp-heads is not possible; cp-ring {{[0-9.]+}} ms, sends 42.00 KiB, holds 22.00 KiB)
func.func @accumulate(%w: tensor<64x64xf32> {hone.fqn = "w", hone.kind = "param"},
                      %g: tensor<64x64xf32> {hone.fqn = "w", hone.kind = "grad"},
                      %t: tensor<4x16xi64> {hone.fqn = "tokens", hone.kind = "input"},
                      %m: tensor<4x1x16x16xf32> {hone.fqn = "mask", hone.kind = "input"},
                      %c: tensor<4xf32> {hone.fqn = "weights", hone.kind = "input"})
    -> (tensor<f32>, tensor<64x64xf32> {hone.donates = 1 : i64}) {
  %x = hone.embedding %w, %t : tensor<64x64xf32>, tensor<4x16xi64> -> tensor<4x16x64xf32>
  %q = hone.reshape %x : tensor<4x16x64xf32> -> tensor<4x16x8x8xf32>
  %o, %l = hone.attention %q, %q, %q causal scale 1.0
      : (tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>)
      -> (tensor<4x16x8x8xf32>, tensor<4x8x16xf32>)
  %y = hone.reshape %o : tensor<4x16x8x8xf32> -> tensor<4x16x64xf32>
  %z = hone.dot_general %y, %w batch [] x [] contract [2] x [1]
      : tensor<4x16x64xf32>, tensor<64x64xf32> -> tensor<4x16x64xf32>
  %rows = hone.reshape %z : tensor<4x16x64xf32> -> tensor<64x64xf32>
  %ids = hone.iota dim 0 : tensor<64xi64>
  %loss, %lse = hone.cross_entropy mean %rows, %ids ignore_index -100 label_smoothing 0.0
      : tensor<64x64xf32>, tensor<64xi64> -> tensor<f32>, tensor<64xf32>
  %one = hone.constant dense<1.0> : tensor<f32>
  %d = hone.cross_entropy_bwd mean %one, %rows, %ids, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<64x64xf32>, tensor<64xi64>, tensor<64xf32>) -> tensor<64x64xf32>
  %dz = hone.reshape %d : tensor<64x64xf32> -> tensor<4x16x64xf32>
  %dw = hone.dot_general %y, %dz batch [] x [] contract [0, 1] x [0, 1]
      : tensor<4x16x64xf32>, tensor<4x16x64xf32> -> tensor<64x64xf32>
  %sum = hone.add %g, %dw : tensor<64x64xf32>
  return %loss, %sum : tensor<f32>, tensor<64x64xf32>
}

// -----

// Key heads that are fewer than the ranks.
func.func @accumulate(%w: tensor<64x64xf32> {hone.fqn = "w", hone.kind = "param"},
                      %t: tensor<4x16xi64> {hone.fqn = "tokens", hone.kind = "input"}) -> tensor<4x16x8x8xf32> {
  %x = hone.embedding %w, %t : tensor<64x64xf32>, tensor<4x16xi64> -> tensor<4x16x64xf32>
  %q = hone.reshape %x : tensor<4x16x64xf32> -> tensor<4x16x8x8xf32>
  %k = hone.slice %q [0, 0, 0, 0] to [4, 16, 4, 8] by [1, 1, 1, 1]
      : tensor<4x16x8x8xf32> -> tensor<4x16x4x8xf32>
  %o, %l = hone.attention %q, %k, %k causal scale 1.0
      : (tensor<4x16x8x8xf32>, tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>)
      -> (tensor<4x16x8x8xf32>, tensor<4x8x16xf32>)
  return %o : tensor<4x16x8x8xf32>
}
