// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Gradients of keys and values in bf16 are summed in fp32 before they are rounded.

// CHECK: plan.launch attention {{.*}} scratch({{.*}} : memref<1x16x2x8xf32>, memref<1x16x2x24xf32>)
func.func @evaluate(%q: tensor<1x32x4x8xbf16> {hone.kind = "input", hone.fqn = "q"},
                    %k: tensor<1x16x2x8xbf16> {hone.kind = "input", hone.fqn = "k"},
                    %v: tensor<1x16x2x24xbf16> {hone.kind = "input", hone.fqn = "v"},
                    %o: tensor<1x32x4x24xbf16> {hone.kind = "input", hone.fqn = "o"},
                    %l: tensor<1x4x32xf32> {hone.kind = "input", hone.fqn = "l"})
    -> (tensor<1x32x4x8xbf16> {hone.kind = "grad", hone.fqn = "q"}) {
  %r = hone.fused attention (%b0 = %q : tensor<1x32x4x8xbf16>, %b1 = %k : tensor<1x16x2x8xbf16>,
                             %b2 = %v : tensor<1x16x2x24xbf16>, %b3 = %o : tensor<1x32x4x24xbf16>,
                             %b4 = %l : tensor<1x4x32xf32>) -> (tensor<1x32x4x8xbf16>) {
    %dq, %dk, %dv = hone.attention_bwd %b3, %b0, %b1, %b2, %b3, %b4 scale 0.5
        : (tensor<1x32x4x24xbf16>, tensor<1x32x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x24xbf16>,
           tensor<1x32x4x24xbf16>, tensor<1x4x32xf32>)
        -> (tensor<1x32x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x24xbf16>)
    hone.yield %dq : tensor<1x32x4x8xbf16>
  }
  return %r : tensor<1x32x4x8xbf16>
}
