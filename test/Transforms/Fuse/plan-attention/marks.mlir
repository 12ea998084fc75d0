// Attention that the library takes gets the larger workspace of two layouts. Equal problems are asked once.
// RUN: rm -f %t && env PROBLEMS=%t hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" | FileCheck %s
// RUN: FileCheck %s --check-prefix=PROBLEMS --input-file=%t
// RUN: hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh deterministic" | FileCheck %s --check-prefix=EQUAL
// RUN: hone-opt %s --hone-set-target=target=cpu --hone-plan-attention="tool=%S/Inputs/planner.sh" \
// RUN:   | FileCheck %s --check-prefix=CPU

// A query has 4 heads of 16, keys and values 2 heads: rows of 64, or of 64 + 32 + 16 where they are packed.
// PROBLEMS: {{^}}forward bf16 batch 2 heads 4 2 positions 24 24 width 16 8 scale 0.25 causal 1 dropout 0 deterministic 0
// PROBLEMS-SAME: {{ }}query 1536,64,16 key 768,32,16 value 384,16,8 result 768,32,8{{$}}
// PROBLEMS-NEXT: query 2688,112,16 key 2688,112,16 value 2688,112,8 result 768,32,8{{$}}
// PROBLEMS-NEXT: {{^}}backward bf16 batch 2 heads 4 2 positions 24 24 width 16 8 scale 0.25 causal 1 dropout 0 deterministic 0
// PROBLEMS-SAME: {{ }}query 1536,64,16 key 768,32,16 value 384,16,8 result 768,32,8
// PROBLEMS-SAME: {{ }}result_grad 768,32,8 query_grad 1536,64,16 key_grad 768,32,16 value_grad 384,16,8{{$}}
// PROBLEMS-NEXT: query_grad 2688,112,16 key_grad 2688,112,16 value_grad 2688,112,8{{$}}
// PROBLEMS-NEXT: {{^}}forward f16 batch 2 heads 4 4 positions 24 40 width 16 16 scale 0.10000000000000001 causal 0
// PROBLEMS-SAME: {{ }}query 1536,64,16 key 2560,64,16 value 2560,64,16 result 1536,64,16{{$}}
// PROBLEMS-NEXT: query 1536,64,16 key 5120,128,16 value 5120,128,16 result 1536,64,16{{$}}
// PROBLEMS-NOT: ward

// CPU-NOT: hone.workspace
module attributes {hone.target = "cuda sm_90"} {
  // CHECK-LABEL: @training
  // CHECK-COUNT-2: hone.attention %{{.*}} scale 2.500000e-01 {hone.workspace = 112 : i64}
  // CHECK: hone.attention_bwd {{.*}} {hone.workspace = 112 : i64}
  // EQUAL-LABEL: @training
  // EQUAL: hone.attention_bwd {{.*}} {hone.deterministic, hone.workspace = 112 : i64}
  func.func @training(%q: tensor<2x24x4x16xbf16>, %k: tensor<2x24x2x16xbf16>, %v: tensor<2x24x2x8xbf16>,
                      %g: tensor<2x24x4x8xbf16>)
      -> (tensor<2x24x4x8xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x8xbf16>) {
    %o, %l = hone.attention %q, %k, %v causal scale 0.25
        : (tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x8xbf16>)
        -> (tensor<2x24x4x8xbf16>, tensor<2x4x24xf32>)
    %p, %m = hone.attention %q, %k, %v causal scale 0.25
        : (tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x8xbf16>)
        -> (tensor<2x24x4x8xbf16>, tensor<2x4x24xf32>)
    %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l causal scale 0.25
        : (tensor<2x24x4x8xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x8xbf16>,
           tensor<2x24x4x8xbf16>, tensor<2x4x24xf32>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x8xbf16>)
    return %p, %dq, %dk, %dv : tensor<2x24x4x8xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x8xbf16>
  }

  // CHECK-LABEL: @more_keys_than_queries
  // CHECK: hone.attention {{.*}} {hone.workspace = 64 : i64}
  func.func @more_keys_than_queries(%q: tensor<2x24x4x16xf16>, %k: tensor<2x40x4x16xf16>) -> tensor<2x24x4x16xf16> {
    %o, %l = hone.attention %q, %k, %k scale 0.1
        : (tensor<2x24x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>)
        -> (tensor<2x24x4x16xf16>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x16xf16>
  }
}
