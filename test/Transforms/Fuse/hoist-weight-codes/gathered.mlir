// RUN: hone-opt %s --hone-hoist-weight-codes | FileCheck %s
// RUN: hone-opt %s --hone-hoist-weight-codes --dist-print-collectives -o %t | FileCheck %s --check-prefix=SENT
// RUN: hone-opt %s --dist-print-collectives -o %t | FileCheck %s --check-prefix=NUMBERS

// SENT: all_gather over fs f32: 2 x 32 = 64
// SENT-NEXT: all_gather over fs f8E4M3FN: 2 x 16384 = 32768
// NUMBERS: all_gather over fs bf16: 2 x 32768 = 65536

// Ranks gather codes, which the update makes of each shard, and not numbers in bf16. In the backward part they gather them
// again and transpose codes and scales: of 384 rows there are 3 blocks, in room for 4.
dist.mesh @mesh [<"fs" = 3>]

// CHECK-LABEL: @accumulate
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<128x64xf8E4M3FN> {hone.fqn = "w:codes", hone.kind = "working_copy"}
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<1x4xf32> {hone.fqn = "w:scales", hone.kind = "working_copy"}
// CHECK-NOT: hone.quantize
func.func @accumulate(%w: tensor<128x64xbf16> {hone.kind = "working_copy", hone.fqn = "w"})
    -> (tensor<384x64xf8E4M3FN>, tensor<3x4xf32>, tensor<64x384xf8E4M3FN>, tensor<1x4xf32>) {
  // CHECK: %[[CODES:.+]] = dist.all_gather %[[C]] dim 0 over ["fs"] : tensor<128x64xf8E4M3FN> -> tensor<384x64xf8E4M3FN>
  // CHECK-NEXT: %[[SCALES:.+]] = dist.all_gather %[[S]] dim 0 over ["fs"] : tensor<1x4xf32> -> tensor<3x4xf32>
  %f = dist.all_gather %w dim 0 over ["fs"] : tensor<128x64xbf16> -> tensor<384x64xbf16>
  %a, %sa = hone.quantize %f tile [128, 128] : tensor<384x64xbf16> -> tensor<384x64xf8E4M3FN>, tensor<3x4xf32>
  // CHECK-NEXT: %[[AGAIN:.+]] = dist.all_gather %[[C]] dim 0 over ["fs"] again
  // CHECK-NEXT: %[[MORE:.+]] = dist.all_gather %[[S]] dim 0 over ["fs"] again
  // CHECK-NEXT: %[[T:.+]] = hone.transpose %[[AGAIN]] [1, 0] : tensor<384x64xf8E4M3FN> -> tensor<64x384xf8E4M3FN>
  // CHECK-NEXT: %[[REAL:.+]] = hone.slice %[[MORE]] [0, 0] to [3, 1] by [1, 1]
  // CHECK-NEXT: %[[TURNED:.+]] = hone.transpose %[[REAL]] [1, 0] : tensor<3x1xf32> -> tensor<1x3xf32>
  // CHECK-NEXT: %[[ST:.+]] = hone.pad %[[TURNED]] low [0, 0] high [0, 1]
  // CHECK-NEXT: return %[[CODES]], %[[SCALES]], %[[T]], %[[ST]]
  %b = dist.all_gather %w dim 0 over ["fs"] again : tensor<128x64xbf16> -> tensor<384x64xbf16>
  %c, %sc = hone.quantize %b tile [128, 128] transposed : tensor<384x64xbf16> -> tensor<64x384xf8E4M3FN>, tensor<1x4xf32>
  return %a, %sa, %c, %sc : tensor<384x64xf8E4M3FN>, tensor<3x4xf32>, tensor<64x384xf8E4M3FN>, tensor<1x4xf32>
}

// CHECK-LABEL: @update
// CHECK: %[[NEW:.+]], %[[COPY:.+]] = hone.sgd
// CHECK-NEXT: %[[CODES:.+]], %[[SCALES:.+]] = hone.quantize %[[COPY]] tile [128, 128] : tensor<128x64xbf16>
// CHECK-NEXT: return %[[NEW]], %[[CODES]], %[[SCALES]]
func.func @update(%w: tensor<128x64xf32> {hone.kind = "param", hone.fqn = "w"},
                  %copy: tensor<128x64xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                  %g: tensor<128x64xf32> {hone.kind = "grad", hone.fqn = "w"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
    -> (tensor<128x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<128x64xbf16> {hone.kind = "working_copy", hone.fqn = "w", hone.donates = 1 : i64}) {
  %new, %made = hone.sgd %w, %g lr %lr weight_decay %lr grad_scale %lr
      : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<128x64xf32>, tensor<128x64xbf16>)
  return %new, %made : tensor<128x64xf32>, tensor<128x64xbf16>
}

// CHECK-LABEL: @fill_codes
// CHECK-NOT: dist.all_gather
// CHECK: hone.quantize
// CHECK-NOT: hone.quantize
