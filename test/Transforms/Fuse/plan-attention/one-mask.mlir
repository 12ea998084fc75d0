// With dropout a library draws a mask of its own: of the calls that draw one mask, it gets all or none.
// RUN: env PLANNER=forward hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh report" --verify-diagnostics \
// RUN:   | FileCheck %s
// RUN: hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" | FileCheck %s --check-prefix=ALL

// CHECK: hone.attention {{.*}} salt 3
// CHECK-NOT: hone.workspace
// CHECK: hone.attention_bwd {{.*}} salt 3
// CHECK-NOT: hone.workspace
// CHECK: hone.attention {{.*}} salt 4 {hone.workspace = 192 : i64}
// ALL-COUNT-3: hone.workspace = 192
module attributes {hone.target = "cuda sm_90"} {
  func.func @dropout(%q: tensor<2x24x4x16xbf16>, %rng: tensor<3xi64>) -> (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>) {
    // expected-remark@below {{attention in parts: it has the dropout of another one that is refused}}
    %o, %l = hone.attention %q, %q, %q rng %rng scale 1.0 dropout 0.1 salt 3
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<3xi64>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
    // expected-remark@below {{attention in parts: it is refused by cuDNN: no gradients}}
    %dq, %dk, %dv = hone.attention_bwd %o, %q, %q, %q, %o, %l rng %rng scale 1.0 dropout 0.1 salt 3
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>,
           tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>, tensor<3xi64>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>)
    %p, %m = hone.attention %q, %q, %q rng %rng scale 1.0 dropout 0.1 salt 4
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<3xi64>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
    return %dq, %p : tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>
  }
}
