// What a rank has of attention under context parallelism is several calls: one per run of queries, of which each begins at
// a position of its own, with results in the type of the operands. Gradients of keys past the last query of a run, which a
// library leaves undefined, are replaced by zero; those of all runs are added in f32.
// RUN: rm -f %t.problems && env PROBLEMS=%t.problems hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --check-prefix=PROBLEMS --input-file=%t.problems
// RUN: hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh required deterministic" | FileCheck %s --check-prefix=EQUAL

// A problem is that of one run, at the strides of all.
// PROBLEMS: {{^}}forward bf16 batch 2 heads 4 2 positions 8 32 width 16 8 scale 0.25 causal lengths dropout 0 deterministic 0
// PROBLEMS-SAME: {{ }}query 1024,64,16 key 1024,32,16 value 512,16,8 result 512,32,8{{$}}
// PROBLEMS: {{^}}backward bf16 batch 2 heads 4 2 positions 8 32 width 16 8 scale 0.25 causal lengths dropout 0 deterministic 0
// PROBLEMS: {{^}}forward bf16 batch 2 heads 4 4 positions 16 16 width 16 16 scale 0.25 causal 1

module attributes {hone.target = "cuda sm_90"} {
  // CHECK-LABEL: @runs
  // CHECK: %[[Q0:.*]] = hone.slice %arg0 {{.*}}0, 0, 0, 0{{.*}}2, 8, 4, 16{{.*}} -> tensor<2x8x4x16xbf16>
  // CHECK: %[[F0:.*]] = hone.slice %[[FIRST:[a-z0-9]+]] {{.*}} -> tensor<1xi64>
  // CHECK: %[[O0:.*]], %[[L0:.*]] = hone.attention %[[Q0]], %arg1, %arg2 mask %[[F0]] causal scale 2.500000e-01 {hone.workspace = 64 : i64}
  // CHECK-SAME: -> (tensor<2x8x4x8xbf16>, tensor<2x4x8xf32>)
  // CHECK: %[[Q1:.*]] = hone.slice %arg0 {{.*}}0, 8, 0, 0{{.*}}2, 16, 4, 16
  // CHECK: %[[O1:.*]], %[[L1:.*]] = hone.attention %[[Q1]], %arg1, %arg2 mask %{{.*}} causal scale 2.500000e-01 {hone.workspace = 64 : i64}
  // CHECK: %[[O:.*]] = hone.concat %[[O0]], %[[O1]] dim 1
  // CHECK: hone.concat %[[L0]], %[[L1]] dim 2
  // CHECK: hone.slice %arg3
  // CHECK: hone.slice %[[O]]
  // CHECK: %[[DQ0:.*]], %[[DK0:.*]], %[[DV0:.*]] = hone.attention_bwd {{.*}}, %[[L0]] mask {{.*}} -> (tensor<2x8x4x16xbf16>, tensor<2x32x2x16xbf16>, tensor<2x32x2x8xbf16>)
  // CHECK: %[[DQ1:.*]], %[[DK1:.*]], %[[DV1:.*]] = hone.attention_bwd {{.*}}, %[[L1]] mask {{.*}}hone.workspace
  // CHECK: hone.concat %[[DQ0]], %[[DQ1]] dim 1
  // CHECK: %[[EIGHT:.*]] = hone.constant dense<8> : tensor<1xi32>
  // CHECK: %[[END:.*]] = hone.add %{{.*}}, %[[EIGHT]]
  // CHECK: %[[SEEN:.*]] = hone.cmp lt
  // CHECK: %[[S0:.*]] = hone.select %[[SEEN]], %[[DK0]], %{{.*}}
  // CHECK: %[[W0:.*]] = hone.cast %[[S0]] : tensor<2x32x2x16xbf16> -> tensor<2x32x2x16xf32>
  // CHECK: hone.select %{{.*}}, %[[DK1]], %{{.*}}
  // CHECK: %[[SUM:.*]] = hone.add %[[W0]], %{{.*}} : tensor<2x32x2x16xf32>
  // CHECK: hone.cast %[[SUM]] : tensor<2x32x2x16xf32> -> tensor<2x32x2x16xbf16>
  // EQUAL-LABEL: @runs
  // EQUAL-COUNT-2: hone.attention_bwd {{.*}} {hone.deterministic, hone.workspace
  func.func @runs(%q: tensor<2x16x4x16xbf16>, %k: tensor<2x32x2x16xbf16>, %v: tensor<2x32x2x8xbf16>,
                  %g: tensor<2x16x4x8xbf16>)
      -> (tensor<2x16x4x8xbf16>, tensor<2x16x4x16xbf16>, tensor<2x32x2x16xbf16>, tensor<2x32x2x8xbf16>) {
    %first = hone.constant dense<[8, 16]> : tensor<2xi64>
    %o, %l = hone.attention %q, %k, %v mask %first causal scale 0.25
        : (tensor<2x16x4x16xbf16>, tensor<2x32x2x16xbf16>, tensor<2x32x2x8xbf16>, tensor<2xi64>)
        -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
    %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l mask %first causal scale 0.25
        : (tensor<2x16x4x8xbf16>, tensor<2x16x4x16xbf16>, tensor<2x32x2x16xbf16>, tensor<2x32x2x8xbf16>,
           tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>, tensor<2xi64>)
        -> (tensor<2x16x4x16xbf16>, tensor<2x32x2x16xbf16>, tensor<2x32x2x8xbf16>)
    return %o, %dq, %dk, %dv : tensor<2x16x4x8xbf16>, tensor<2x16x4x16xbf16>, tensor<2x32x2x16xbf16>, tensor<2x32x2x8xbf16>
  }

  // A step of a ring: results are rounded once, then widened for what merges them.
  // CHECK-LABEL: @sums
  // CHECK: %[[O:.*]], %{{.*}} = hone.attention {{.*}} -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  // CHECK-NEXT: hone.cast %[[O]] : tensor<2x16x4x16xbf16> -> tensor<2x16x4x16xf32>
  // CHECK: %[[DQ:.*]], %[[DK:.*]], %{{.*}} = hone.attention_bwd {{.*}} -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>)
  // CHECK: hone.cast %[[DQ]] : tensor<2x16x4x16xbf16> -> tensor<2x16x4x16xf32>
  // CHECK: hone.cast %[[DK]] : tensor<2x16x4x16xbf16> -> tensor<2x16x4x16xf32>
  func.func @sums(%q: tensor<2x16x4x16xbf16>, %p: tensor<2x16x4x16xbf16>)
      -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) {
    %o, %l = hone.attention %q, %q, %q causal scale 0.25
        : (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>)
        -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
    %dq, %dk, %dv = hone.attention_bwd %p, %q, %q, %q, %p, %l causal scale 0.25
        : (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>,
           tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
        -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
    return %o, %dq, %dk, %dv : tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>
  }
}
