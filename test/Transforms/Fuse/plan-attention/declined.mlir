// What is no call of the library stays unmarked, with a reason. Where a call is wanted in any case it is an error.
// RUN: hone-opt %s --split-input-file --hone-plan-attention="tool=%S/Inputs/planner.sh report" --verify-diagnostics \
// RUN:   | FileCheck %s
// RUN: sed s/expected-remark/expected-error/ %s | sed "s/attention in parts: it \(.*\)}}/'hone.attention' op \1, for which there is no fused kernel}}/" > %t
// RUN: hone-opt %t --split-input-file --hone-plan-attention="tool=%S/Inputs/planner.sh required" --verify-diagnostics

// CHECK-NOT: hone.workspace
module attributes {hone.target = "cuda sm_90"} {
  func.func @wide(%q: tensor<2x24x4x16xf32>) -> tensor<2x24x4x16xf32> {
    // expected-remark@below {{attention in parts: it has operands of f32, expected bf16 or f16}}
    %o, %l = hone.attention %q, %q, %q scale 1.0
        : (tensor<2x24x4x16xf32>, tensor<2x24x4x16xf32>, tensor<2x24x4x16xf32>)
        -> (tensor<2x24x4x16xf32>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x16xf32>
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  func.func @masked(%q: tensor<2x24x4x16xbf16>, %m: tensor<1x1x24x24xf32>) -> tensor<2x24x4x16xbf16> {
    // expected-remark@below {{attention in parts: it has a mask, expected none but 'causal'}}
    %o, %l = hone.attention %q, %q, %q mask %m scale 1.0
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<1x1x24x24xf32>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x16xbf16>
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  func.func @packed(%q: tensor<2x24x4x16xbf16>, %ids: tensor<2x24xi64>) -> tensor<2x24x4x16xbf16> {
    // expected-remark@below {{attention in parts: it has segments of packed documents, expected none}}
    %o, %l = hone.attention %q, %q, %q mask %ids causal scale 1.0
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24xi64>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x16xbf16>
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  func.func @narrow_statistics(%q: tensor<2x24x4x16xbf16>) -> tensor<2x24x4x16xbf16> {
    // expected-remark@below {{attention in parts: it has a log-sum-exp of bf16, expected f32}}
    %o, %l = hone.attention %q, %q, %q scale 1.0
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xbf16>)
    return %o : tensor<2x24x4x16xbf16>
  }
}

// -----

// The library's generator counts the elements that it is given.
module attributes {hone.target = "cuda sm_90"} {
  func.func @part(%q: tensor<2x24x4x16xbf16>, %rng: tensor<3xi64>, %n: tensor<i64>) -> tensor<2x24x4x16xbf16> {
    // expected-remark@below {{attention in parts: it has the dropout of a part, expected a whole tensor's}}
    %o, %l = hone.attention %q, %q, %q rng %rng, %n scale 1.0 dropout 0.1 salt 1 of [4, 4, 24, 24]
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<3xi64>, tensor<i64>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x16xbf16>
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  func.func @width(%q: tensor<2x24x4x12xbf16>) -> tensor<2x24x4x12xbf16> {
    // expected-remark@below {{attention in parts: it is refused by cuDNN: width 12, expected a multiple of 8}}
    %o, %l = hone.attention %q, %q, %q scale 1.0
        : (tensor<2x24x4x12xbf16>, tensor<2x24x4x12xbf16>, tensor<2x24x4x12xbf16>)
        -> (tensor<2x24x4x12xbf16>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x12xbf16>
  }
}
