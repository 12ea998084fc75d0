// The calls of runs of queries compute what the attention does: in double to 1e-12, as sums in another order differ.
// RUN: hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh required" -o %t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-12
// REQUIRES: hone-run

module attributes {hone.target = "cuda sm_90"} {
  func.func @runs(%q: tensor<2x12x4x8xbf16>, %k: tensor<2x24x2x8xbf16>, %v: tensor<2x24x2x16xbf16>,
                  %g: tensor<2x12x4x16xbf16>)
      -> (tensor<2x12x4x16xbf16>, tensor<2x4x12xf32>, tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x16xf32>) {
    %first = hone.constant dense<[3, 0, 18]> : tensor<3xi64>
    %o, %l = hone.attention %q, %k, %v mask %first causal scale 0.35
        : (tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x16xbf16>, tensor<3xi64>)
        -> (tensor<2x12x4x16xbf16>, tensor<2x4x12xf32>)
    %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l mask %first causal scale 0.35
        : (tensor<2x12x4x16xbf16>, tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x16xbf16>,
           tensor<2x12x4x16xbf16>, tensor<2x4x12xf32>, tensor<3xi64>)
        -> (tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x16xbf16>)
    %w = hone.cast %dv : tensor<2x24x2x16xbf16> -> tensor<2x24x2x16xf32>
    return %o, %l, %dq, %dk, %w
        : tensor<2x12x4x16xbf16>, tensor<2x4x12xf32>, tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x16xf32>
  }

  // One run.
  func.func @run(%q: tensor<2x12x4x8xbf16>, %k: tensor<2x24x2x8xbf16>, %g: tensor<2x12x4x8xbf16>)
      -> (tensor<2x12x4x8xf32>, tensor<2x12x4x8xf32>, tensor<2x24x2x8xf32>, tensor<2x24x2x8xf32>) {
    %first = hone.constant dense<7> : tensor<1xi64>
    %o, %l = hone.attention %q, %k, %k mask %first causal scale 0.35
        : (tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x8xbf16>, tensor<1xi64>)
        -> (tensor<2x12x4x8xf32>, tensor<2x4x12xf32>)
    %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %k, %q, %l mask %first causal scale 0.35
        : (tensor<2x12x4x8xbf16>, tensor<2x12x4x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x8xbf16>,
           tensor<2x12x4x8xbf16>, tensor<2x4x12xf32>, tensor<1xi64>)
        -> (tensor<2x12x4x8xf32>, tensor<2x24x2x8xf32>, tensor<2x24x2x8xf32>)
    return %o, %dq, %dk, %dv : tensor<2x12x4x8xf32>, tensor<2x12x4x8xf32>, tensor<2x24x2x8xf32>, tensor<2x24x2x8xf32>
  }
}
