// RUN: hone-opt %s --hone-hoist-weight-codes | FileCheck %s
// RUN: hone-opt %s --hone-hoist-weight-codes --dist-bucket-collectives | FileCheck %s --check-prefix=ONE

// One scale of a weight is that of the largest magnitude of all shards. Ranks find those of all weights in the update, by
// one exchange, and gather codes, also of shards that are no multiple of 128 rows.
dist.mesh @mesh [<"fs" = 2>]

// CHECK-LABEL: @accumulate
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<16x32xf8E4M3FN> {hone.fqn = "w:codes", hone.kind = "working_copy"}
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<f32> {hone.fqn = "w:scales", hone.kind = "working_copy"}
// CHECK-NOT: hone.quantize
// CHECK-NOT: hone.amax
func.func @accumulate(%w: tensor<16x32xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                      %v: tensor<16x32xbf16> {hone.kind = "working_copy", hone.fqn = "v"})
    -> (tensor<32x32xf8E4M3FN>, tensor<f32>, tensor<32x32xf8E4M3FN>, tensor<f32>, tensor<32x32xf8E4M3FN>, tensor<f32>) {
  // CHECK: %[[CODES:.+]] = dist.all_gather %[[C]] dim 0 over ["fs"] : tensor<16x32xf8E4M3FN> -> tensor<32x32xf8E4M3FN>
  %f = dist.all_gather %w dim 0 over ["fs"] : tensor<16x32xbf16> -> tensor<32x32xbf16>
  %m = hone.amax %f : tensor<32x32xbf16>
  %a, %sa = hone.quantize %f amax %m tile [0, 0] : tensor<32x32xbf16> -> tensor<32x32xf8E4M3FN>, tensor<f32>
  // CHECK: %[[AGAIN:.+]] = dist.all_gather %[[C]] dim 0 over ["fs"] again
  // CHECK: %[[T:.+]] = hone.transpose %[[AGAIN]] [1, 0]
  %b = dist.all_gather %w dim 0 over ["fs"] again : tensor<16x32xbf16> -> tensor<32x32xbf16>
  %n = hone.amax %b : tensor<32x32xbf16>
  %c, %sc = hone.quantize %b amax %n tile [0, 0] transposed : tensor<32x32xbf16> -> tensor<32x32xf8E4M3FN>, tensor<f32>
  %g = dist.all_gather %v dim 0 over ["fs"] : tensor<16x32xbf16> -> tensor<32x32xbf16>
  %k = hone.amax %g : tensor<32x32xbf16>
  %d, %sd = hone.quantize %g amax %k tile [0, 0] : tensor<32x32xbf16> -> tensor<32x32xf8E4M3FN>, tensor<f32>
  // CHECK: return %[[CODES]], %[[S]], %[[T]], %[[S]],
  return %a, %sa, %c, %sc, %d, %sd : tensor<32x32xf8E4M3FN>, tensor<f32>, tensor<32x32xf8E4M3FN>, tensor<f32>,
      tensor<32x32xf8E4M3FN>, tensor<f32>
}

// CHECK-LABEL: @update
// CHECK: %{{.+}}, %[[COPY:.+]] = hone.sgd
// CHECK: %[[OWN:.+]] = hone.amax %[[COPY]] : tensor<16x32xbf16>
// CHECK-NEXT: %[[ALL:.+]] = dist.all_reduce max %[[OWN]] over ["fs"] : tensor<f32>
// CHECK-NEXT: hone.amax
// CHECK-NEXT: dist.all_reduce max
// CHECK-NEXT: hone.quantize %[[COPY]] amax %[[ALL]] tile [0, 0] : tensor<16x32xbf16>
// CHECK-NEXT: hone.quantize
// CHECK-NEXT: return
// ONE-LABEL: @update
// ONE: dist.all_reduce max %{{.+}} over ["fs"] : tensor<1x2xf32>
// ONE-NOT: dist.all_reduce
// ONE: return
func.func @update(%w: tensor<16x32xf32> {hone.kind = "param", hone.fqn = "w"},
                  %v: tensor<16x32xf32> {hone.kind = "param", hone.fqn = "v"},
                  %copy: tensor<16x32xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                  %other: tensor<16x32xbf16> {hone.kind = "working_copy", hone.fqn = "v"},
                  %g: tensor<16x32xf32> {hone.kind = "grad", hone.fqn = "w"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
    -> (tensor<16x32xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<16x32xbf16> {hone.kind = "working_copy", hone.fqn = "w", hone.donates = 2 : i64},
        tensor<16x32xf32> {hone.kind = "param", hone.fqn = "v", hone.donates = 1 : i64},
        tensor<16x32xbf16> {hone.kind = "working_copy", hone.fqn = "v", hone.donates = 3 : i64}) {
  %new, %made = hone.sgd %w, %g lr %lr weight_decay %lr grad_scale %lr
      : (tensor<16x32xf32>, tensor<16x32xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<16x32xf32>, tensor<16x32xbf16>)
  %next, %last = hone.sgd %v, %g lr %lr weight_decay %lr grad_scale %lr
      : (tensor<16x32xf32>, tensor<16x32xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<16x32xf32>, tensor<16x32xbf16>)
  return %new, %made, %next, %last : tensor<16x32xf32>, tensor<16x32xbf16>, tensor<16x32xf32>, tensor<16x32xbf16>
}

// CHECK-LABEL: @fill_codes
// CHECK: dist.all_reduce max
// CHECK: dist.all_reduce max
// CHECK-NEXT: hone.quantize
// CHECK-NEXT: hone.quantize
