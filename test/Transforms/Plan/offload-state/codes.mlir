// A master weight whose working copies are codes lies in the second arena: the update copies it up and down, @fill_codes up.
// A weight that @fill_codes reads through a view stays.
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=state chunk=300" | FileCheck %s
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=state chunk=300" --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=PLAN

// The largest weight comes first. Kernels that make codes follow the part whose new copy they read.
// CHECK-LABEL: func.func @update(
// CHECK-SAME: hone.fqn = "a", hone.kind = "param", plan.host}
// CHECK-SAME: hone.fqn = "b", hone.kind = "param", plan.host}
// CHECK-SAME: hone.fqn = "v", hone.kind = "param"},
// CHECK: %[[A:.+]]:2 = hone.fused multi_tensor
// CHECK: hone.sgd
// CHECK: hone.fused data_movement ({{.+}} = %[[A]]#1
// CHECK: hone.quantize
// CHECK-NEXT: hone.quantize {{.+}} transposed
// CHECK: %[[B:.+]]:2 = hone.fused multi_tensor
// CHECK: hone.sgd
// CHECK: hone.fused data_movement ({{.+}} = %[[B]]#1
// CHECK: hone.quantize
// CHECK-LABEL: func.func @fill_codes(
// CHECK-SAME: hone.fqn = "a", hone.kind = "param", plan.host}
// CHECK-SAME: hone.fqn = "b", hone.kind = "param", plan.host}
// CHECK-SAME: hone.fqn = "v", hone.kind = "param"},

// PLAN-LABEL: plan.function @fill_codes
// PLAN: plan.copy up %[[A:.+]] at 0 token 0 : memref<32x16xf32>
// PLAN: plan.copy up %[[B:.+]] at 2048 token 2 : memref<16x16xf32>
// PLAN-NEXT: plan.wait 0
// PLAN: plan.launch map ins(%[[A]] :
// PLAN-NOT: plan.wait
// PLAN: hone.quantize {{.+}} transposed
// PLAN: plan.wait 2
// PLAN: plan.launch map ins(%[[B]] :
// PLAN-NOT: plan.copy
// PLAN-NOT: plan.wait
// PLAN: hone.quantize

func.func @update(%a: tensor<32x16xf32> {hone.kind = "param", hone.fqn = "a"},
                  %b: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "b"},
                  %v: tensor<4x4x16xf32> {hone.kind = "param", hone.fqn = "v"},
                  %ga: tensor<32x16xf32> {hone.kind = "grad", hone.fqn = "a"},
                  %gb: tensor<16x16xf32> {hone.kind = "grad", hone.fqn = "b"},
                  %gv: tensor<4x4x16xf32> {hone.kind = "grad", hone.fqn = "v"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"},
                  %ca: tensor<32x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes"},
                  %sa: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales"},
                  %ta: tensor<16x32xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes_t"},
                  %sta: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales_t"},
                  %cb: tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "b:codes"},
                  %sb: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "b:scales"},
                  %cv: tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "v:codes"},
                  %sv: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "v:scales"}) ->
    (tensor<32x16xf32> {hone.kind = "param", hone.fqn = "a", hone.donates = 0 : i64},
     tensor<16x16xf32> {hone.kind = "param", hone.fqn = "b", hone.donates = 1 : i64},
     tensor<4x4x16xf32> {hone.kind = "param", hone.fqn = "v", hone.donates = 2 : i64},
     tensor<32x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes", hone.donates = 7 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales", hone.donates = 8 : i64},
     tensor<16x32xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes_t", hone.donates = 9 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales_t", hone.donates = 10 : i64},
     tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "b:codes", hone.donates = 11 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "b:scales", hone.donates = 12 : i64},
     tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "v:codes", hone.donates = 13 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "v:scales", hone.donates = 14 : i64}) {
  %pb, %nb = hone.sgd %b, %gb lr %lr weight_decay %lr grad_scale %lr
      : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16x16xf32>, tensor<16x16xbf16>)
  %pa, %na = hone.sgd %a, %ga lr %lr weight_decay %lr grad_scale %lr
      : (tensor<32x16xf32>, tensor<32x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<32x16xf32>, tensor<32x16xbf16>)
  %pv, %nv = hone.sgd %v, %gv lr %lr weight_decay %lr grad_scale %lr
      : (tensor<4x4x16xf32>, tensor<4x4x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x4x16xf32>, tensor<4x4x16xbf16>)
  %xa, %ya = hone.quantize %na tile [128, 128] : tensor<32x16xbf16> -> tensor<32x16xf8E4M3FN>, tensor<1x4xf32>
  %za, %wa = hone.quantize %na tile [128, 128] transposed : tensor<32x16xbf16> -> tensor<16x32xf8E4M3FN>, tensor<1x4xf32>
  %xb, %yb = hone.quantize %nb tile [128, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x4xf32>
  %rv = hone.reshape %nv : tensor<4x4x16xbf16> -> tensor<16x16xbf16>
  %xv, %yv = hone.quantize %rv tile [128, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x4xf32>
  return %pa, %pb, %pv, %xa, %ya, %za, %wa, %xb, %yb, %xv, %yv
      : tensor<32x16xf32>, tensor<16x16xf32>, tensor<4x4x16xf32>, tensor<32x16xf8E4M3FN>, tensor<1x4xf32>,
        tensor<16x32xf8E4M3FN>, tensor<1x4xf32>, tensor<16x16xf8E4M3FN>, tensor<1x4xf32>, tensor<16x16xf8E4M3FN>, tensor<1x4xf32>
}

func.func @fill_codes(%a: tensor<32x16xf32> {hone.kind = "param", hone.fqn = "a"},
                      %b: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "b"},
                      %v: tensor<4x4x16xf32> {hone.kind = "param", hone.fqn = "v"},
                      %ca: tensor<32x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes"},
                      %sa: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales"},
                      %ta: tensor<16x32xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes_t"},
                      %sta: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales_t"},
                      %cb: tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "b:codes"},
                      %sb: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "b:scales"},
                      %cv: tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "v:codes"},
                      %sv: tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "v:scales"}) ->
    (tensor<32x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes", hone.donates = 3 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales", hone.donates = 4 : i64},
     tensor<16x32xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "a:codes_t", hone.donates = 5 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "a:scales_t", hone.donates = 6 : i64},
     tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "b:codes", hone.donates = 7 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "b:scales", hone.donates = 8 : i64},
     tensor<16x16xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "v:codes", hone.donates = 9 : i64},
     tensor<1x4xf32> {hone.kind = "working_copy", hone.fqn = "v:scales", hone.donates = 10 : i64}) {
  %na = hone.cast %a : tensor<32x16xf32> -> tensor<32x16xbf16>
  %xa, %ya = hone.quantize %na tile [128, 128] : tensor<32x16xbf16> -> tensor<32x16xf8E4M3FN>, tensor<1x4xf32>
  %ma = hone.cast %a : tensor<32x16xf32> -> tensor<32x16xbf16>
  %za, %wa = hone.quantize %ma tile [128, 128] transposed : tensor<32x16xbf16> -> tensor<16x32xf8E4M3FN>, tensor<1x4xf32>
  %nb = hone.cast %b : tensor<16x16xf32> -> tensor<16x16xbf16>
  %xb, %yb = hone.quantize %nb tile [128, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x4xf32>
  %rv = hone.reshape %v : tensor<4x4x16xf32> -> tensor<16x16xf32>
  %nv = hone.cast %rv : tensor<16x16xf32> -> tensor<16x16xbf16>
  %xv, %yv = hone.quantize %nv tile [128, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x4xf32>
  return %xa, %ya, %za, %wa, %xb, %yb, %xv, %yv
      : tensor<32x16xf8E4M3FN>, tensor<1x4xf32>, tensor<16x32xf8E4M3FN>, tensor<1x4xf32>,
        tensor<16x16xf8E4M3FN>, tensor<1x4xf32>, tensor<16x16xf8E4M3FN>, tensor<1x4xf32>
}
