// RUN: hone-opt %s --hone-hoist-weight-codes --split-input-file | FileCheck %s

// Codes of both orientations are arguments of every function that reads them, results of the update, and made by
// @fill_codes. The copy in bf16 is gone, and donated arguments have their new numbers.
// CHECK-LABEL: @accumulate
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<32x64xbf16> {hone.fqn = "x", hone.kind = "input"},
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<192x64xf8E4M3FN> {hone.fqn = "w:codes_t", hone.kind = "working_copy"},
// CHECK-SAME: %[[SB:[a-z0-9]+]]: tensor<2x4xf32> {hone.fqn = "w:scales_t", hone.kind = "working_copy"},
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<64x192xf8E4M3FN> {hone.fqn = "w:codes", hone.kind = "working_copy"},
// CHECK-SAME: %[[SC:[a-z0-9]+]]: tensor<1x4xf32> {hone.fqn = "w:scales", hone.kind = "working_copy"})
func.func @accumulate(%w: tensor<64x192xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                      %x: tensor<32x64xbf16> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<32x192xbf16>, tensor<32x64xbf16>) {
  // CHECK: %[[A:.+]], %[[SA:.+]] = hone.quantize %[[X]]
  %a, %sa = hone.quantize %x tile [1, 128] : tensor<32x64xbf16> -> tensor<32x64xf8E4M3FN>, tensor<1x32xf32>
  // CHECK-NOT: transposed
  %b, %sb = hone.quantize %w tile [128, 128] transposed
      : tensor<64x192xbf16> -> tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
  // CHECK: %[[Y:.+]] = hone.dot_general %[[A]], %[[B]] scales %[[SA]], %[[SB]]
  %y = hone.dot_general %a, %b scales %sa, %sb tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
      : tensor<32x64xf8E4M3FN>, tensor<192x64xf8E4M3FN> scales tensor<1x32xf32>, tensor<2x4xf32> -> tensor<32x192xbf16>
  // CHECK-NEXT: %[[G:.+]], %[[SG:.+]] = hone.quantize %[[Y]]
  %g, %sg = hone.quantize %y tile [1, 128] : tensor<32x192xbf16> -> tensor<32x192xf8E4M3FN>, tensor<2x32xf32>
  %c, %sc = hone.quantize %w tile [128, 128] : tensor<64x192xbf16> -> tensor<64x192xf8E4M3FN>, tensor<1x4xf32>
  // CHECK-NEXT: hone.dot_general %[[G]], %[[C]] scales %[[SG]], %[[SC]]
  %dx = hone.dot_general %g, %c scales %sg, %sc tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
      : tensor<32x192xf8E4M3FN>, tensor<64x192xf8E4M3FN> scales tensor<2x32xf32>, tensor<1x4xf32> -> tensor<32x64xbf16>
  return %y, %dx : tensor<32x192xbf16>, tensor<32x64xbf16>
}

// CHECK-LABEL: @update
// CHECK-SAME: -> (tensor<64x192xf32> {hone.donates = 0 : i64, hone.fqn = "w", hone.kind = "param"},
// CHECK-SAME: tensor<192x64xf8E4M3FN> {hone.donates = 3 : i64, hone.fqn = "w:codes_t", hone.kind = "working_copy"},
// CHECK-SAME: tensor<2x4xf32> {hone.donates = 4 : i64, hone.fqn = "w:scales_t", hone.kind = "working_copy"},
// CHECK-SAME: tensor<64x192xf8E4M3FN> {hone.donates = 5 : i64, hone.fqn = "w:codes", hone.kind = "working_copy"},
func.func @update(%w: tensor<64x192xf32> {hone.kind = "param", hone.fqn = "w"},
                  %copy: tensor<64x192xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                  %g: tensor<64x192xf32> {hone.kind = "grad", hone.fqn = "w"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
    -> (tensor<64x192xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<64x192xbf16> {hone.kind = "working_copy", hone.fqn = "w", hone.donates = 1 : i64}) {
  // CHECK: %[[NEW:.+]], %[[COPY:.+]] = hone.sgd
  %new, %made = hone.sgd %w, %g lr %lr weight_decay %lr grad_scale %lr
      : (tensor<64x192xf32>, tensor<64x192xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<64x192xf32>, tensor<64x192xbf16>)
  // CHECK-NEXT: %[[B:.+]], %[[SB:.+]] = hone.quantize %[[COPY]] tile [128, 128] transposed
  // CHECK-NEXT: %[[C:.+]], %[[SC:.+]] = hone.quantize %[[COPY]] tile [128, 128] :
  // CHECK-NEXT: return %[[NEW]], %[[B]], %[[SB]], %[[C]], %[[SC]]
  return %new, %made : tensor<64x192xf32>, tensor<64x192xbf16>
}

// CHECK-LABEL: @evaluate
// CHECK-SAME: hone.fqn = "w:codes_t"
// CHECK-NOT: hone.quantize
func.func @evaluate(%w: tensor<64x192xbf16> {hone.kind = "working_copy", hone.fqn = "w"})
    -> (tensor<192x64xf8E4M3FN>, tensor<2x4xf32>) {
  %b, %sb = hone.quantize %w tile [128, 128] transposed
      : tensor<64x192xbf16> -> tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
  return %b, %sb : tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
}

// CHECK-LABEL: @fill_codes
// CHECK-SAME: tensor<64x192xf32> {hone.fqn = "w", hone.kind = "param"}
// CHECK: %[[COPY:.+]] = hone.cast %{{.+}} : tensor<64x192xf32> -> tensor<64x192xbf16>
// CHECK-NEXT: hone.quantize %[[COPY]] tile [128, 128] transposed
// CHECK-NEXT: hone.quantize %[[COPY]] tile [128, 128] :

// -----

// One step without micro-batches; one scale per tensor, of the weight in another shape. The copy stays for its other
// reader. The other weight is not trained: nothing renews its codes.
// CHECK-LABEL: @step
// CHECK-SAME: tensor<8x2x16xbf16> {hone.fqn = "w", hone.kind = "working_copy"}
func.func @step(%w: tensor<8x2x16xf32> {hone.kind = "param", hone.fqn = "w"},
                %f: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "f"},
                %copy: tensor<8x2x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                %frozen: tensor<16x16xbf16> {hone.kind = "working_copy", hone.fqn = "f"},
                %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
    -> (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<8x2x16xbf16>,
        tensor<8x2x16xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<8x2x16xbf16> {hone.kind = "working_copy", hone.fqn = "w", hone.donates = 2 : i64}) {
  %r = hone.reshape %copy : tensor<8x2x16xbf16> -> tensor<16x16xbf16>
  %amax = hone.amax %r : tensor<16x16xbf16>
  %c, %sc = hone.quantize %r amax %amax tile [0, 0] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<f32>
  %amaxf = hone.amax %frozen : tensor<16x16xbf16>
  %cf, %scf = hone.quantize %frozen amax %amaxf tile [0, 0] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<f32>
  // CHECK: hone.exp %{{.+}} : tensor<8x2x16xbf16>
  // CHECK-NEXT: %[[NEW:.+]], %[[COPY:.+]] = hone.sgd
  %other = hone.exp %copy : tensor<8x2x16xbf16>
  %new, %made = hone.sgd %w, %w lr %lr weight_decay %lr grad_scale %lr
      : (tensor<8x2x16xf32>, tensor<8x2x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<8x2x16xf32>, tensor<8x2x16xbf16>)
  // CHECK-NEXT: %[[R:.+]] = hone.reshape %[[COPY]]
  // CHECK-NEXT: %[[AMAX:.+]] = hone.amax %[[R]]
  // CHECK-NEXT: %[[C:.+]], %[[SC:.+]] = hone.quantize %[[R]] amax %[[AMAX]]
  // CHECK-NEXT: return %{{.+}}, %{{.+}}, %{{.+}}, %[[NEW]], %[[COPY]], %[[C]], %[[SC]]
  return %c, %cf, %other, %new, %made
      : tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<8x2x16xbf16>, tensor<8x2x16xf32>, tensor<8x2x16xbf16>
}

// CHECK-LABEL: @fill_codes
// CHECK-COUNT-2: hone.quantize
// CHECK-NOT: hone.quantize
