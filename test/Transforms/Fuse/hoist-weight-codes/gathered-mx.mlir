// RUN: hone-opt %s --hone-hoist-weight-codes | FileCheck %s
// RUN: hone-opt %s --hone-hoist-weight-codes --dist-print-collectives -o %t | FileCheck %s --check-prefix=SENT
// RUN: hone-opt %s --dist-print-collectives -o %t | FileCheck %s --check-prefix=NUMBERS

// SENT: all_gather over fs f8E4M3FN: 2 x 16384 = 32768
// SENT-NEXT: all_gather over fs i8: 2 x 512 = 1024
// NUMBERS: all_gather over fs bf16: 2 x 32768 = 65536

// Scales of 32 of a row hold for one orientation: ranks gather codes of the one in the forward part, and of the other in
// the backward part, whose columns lie beside each other then, and their scales in groups of 128 rows.
dist.mesh @mesh [<"fs" = 2>]

// CHECK-LABEL: @accumulate
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<128x128xf8E4M3FN> {hone.fqn = "w:codes", hone.kind = "working_copy"}
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<512xi8> {hone.fqn = "w:scales", hone.kind = "working_copy"}
// CHECK-SAME: %[[CT:[a-z0-9]+]]: tensor<128x128xf8E4M3FN> {hone.fqn = "w:codes_t", hone.kind = "working_copy"}
// CHECK-SAME: %[[ST:[a-z0-9]+]]: tensor<512xi8> {hone.fqn = "w:scales_t", hone.kind = "working_copy"}
// CHECK-NOT: hone.quantize
func.func @accumulate(%w: tensor<128x128xbf16> {hone.kind = "working_copy", hone.fqn = "w"})
    -> (tensor<256x128xf8E4M3FN>, tensor<1024xi8>, tensor<128x256xf8E4M3FN>, tensor<1024xi8>) {
  // CHECK: %[[CODES:.+]] = dist.all_gather %[[C]] dim 0 over ["fs"] : tensor<128x128xf8E4M3FN> -> tensor<256x128xf8E4M3FN>
  // CHECK-NEXT: %[[SCALES:.+]] = dist.all_gather %[[S]] dim 0 over ["fs"] : tensor<512xi8> -> tensor<1024xi8>
  %f = dist.all_gather %w dim 0 over ["fs"] : tensor<128x128xbf16> -> tensor<256x128xbf16>
  %a, %sa = hone.quantize %f tile [1, 32] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<1024xi8>
  // CHECK-NEXT: %[[AGAIN:.+]] = dist.all_gather %[[CT]] dim 0 over ["fs"] again : tensor<128x128xf8E4M3FN> -> tensor<256x128xf8E4M3FN>
  // CHECK-NEXT: %[[RANKS:.+]] = hone.reshape %[[AGAIN]] : tensor<256x128xf8E4M3FN> -> tensor<2x128x128xf8E4M3FN>
  // CHECK-NEXT: %[[ROWS:.+]] = hone.transpose %[[RANKS]] [1, 0, 2]
  // CHECK-NEXT: %[[T:.+]] = hone.reshape %[[ROWS]] : tensor<128x2x128xf8E4M3FN> -> tensor<128x256xf8E4M3FN>
  // CHECK: %[[MORE:.+]] = dist.all_gather %{{.+}} dim 0 over ["fs"] again : tensor<1x512xi8> -> tensor<2x512xi8>
  // CHECK-NEXT: hone.reshape %[[MORE]] : tensor<2x512xi8> -> tensor<2x1x512xi8>
  // CHECK-NEXT: hone.transpose %{{.+}} [1, 0, 2]
  %b = dist.all_gather %w dim 0 over ["fs"] again : tensor<128x128xbf16> -> tensor<256x128xbf16>
  %c, %sc = hone.quantize %b tile [1, 32] transposed : tensor<256x128xbf16> -> tensor<128x256xf8E4M3FN>, tensor<1024xi8>
  return %a, %sa, %c, %sc : tensor<256x128xf8E4M3FN>, tensor<1024xi8>, tensor<128x256xf8E4M3FN>, tensor<1024xi8>
}

// CHECK-LABEL: @update
// CHECK: %[[NEW:.+]], %[[COPY:.+]] = hone.sgd
// CHECK-NEXT: hone.quantize %[[COPY]] tile [1, 32] : tensor<128x128xbf16>
// CHECK-NEXT: hone.quantize %[[COPY]] tile [1, 32] transposed : tensor<128x128xbf16>
func.func @update(%w: tensor<128x128xf32> {hone.kind = "param", hone.fqn = "w"},
                  %copy: tensor<128x128xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                  %g: tensor<128x128xf32> {hone.kind = "grad", hone.fqn = "w"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
    -> (tensor<128x128xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<128x128xbf16> {hone.kind = "working_copy", hone.fqn = "w", hone.donates = 1 : i64}) {
  %new, %made = hone.sgd %w, %g lr %lr weight_decay %lr grad_scale %lr
      : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<128x128xf32>, tensor<128x128xbf16>)
  return %new, %made : tensor<128x128xf32>, tensor<128x128xbf16>
}
