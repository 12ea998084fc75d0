// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// A library's attention has its workspace, 192 bytes longer so that it can begin at a multiple of 256; with dropout what
// the generator starts from; and places for the gradients that nothing reads.

// CHECK: plan.buffer {{.*}} : memref<4288xi8> for workspaces
// CHECK: plan.buffer {{.*}} : memref<2xi64> for workspaces
// CHECK: plan.launch attention {{.*}} scratch({{.*}} : memref<4288xi8>, memref<2xi64>, memref<1x16x2x8xbf16>, memref<1x16x2x24xbf16>)
module attributes {hone.target = "cuda sm_90"} {
  func.func @evaluate(%q: tensor<1x32x4x8xbf16> {hone.kind = "input", hone.fqn = "q"},
                      %k: tensor<1x16x2x8xbf16> {hone.kind = "input", hone.fqn = "k"},
                      %v: tensor<1x16x2x24xbf16> {hone.kind = "input", hone.fqn = "v"},
                      %o: tensor<1x32x4x24xbf16> {hone.kind = "input", hone.fqn = "o"},
                      %l: tensor<1x4x32xf32> {hone.kind = "input", hone.fqn = "l"},
                      %rng: tensor<3xi64> {hone.kind = "rng", hone.fqn = "rng"})
      -> (tensor<1x32x4x8xbf16> {hone.kind = "grad", hone.fqn = "q"}) {
    %r = hone.fused attention (%b0 = %q : tensor<1x32x4x8xbf16>, %b1 = %k : tensor<1x16x2x8xbf16>,
                               %b2 = %v : tensor<1x16x2x24xbf16>, %b3 = %o : tensor<1x32x4x24xbf16>,
                               %b4 = %l : tensor<1x4x32xf32>, %b5 = %rng : tensor<3xi64>) -> (tensor<1x32x4x8xbf16>) {
      %dq, %dk, %dv = hone.attention_bwd %b3, %b0, %b1, %b2, %b3, %b4 rng %b5 scale 0.5 dropout 0.5 salt 3
          {hone.workspace = 4096 : i64}
          : (tensor<1x32x4x24xbf16>, tensor<1x32x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x24xbf16>,
             tensor<1x32x4x24xbf16>, tensor<1x4x32xf32>, tensor<3xi64>)
          -> (tensor<1x32x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x24xbf16>)
      hone.yield %dq : tensor<1x32x4x8xbf16>
    }
    return %r : tensor<1x32x4x8xbf16>
  }
}
