// RUN: hone-opt %s --hone-decompose-rows --split-input-file | FileCheck %s
// RUN: hone-opt %s --hone-decompose-rows --split-input-file | FileCheck %s --check-prefix=LEFT

// LEFT-NOT: hone.{{layer_norm|rms_norm|softmax|cross_entropy}}

// CHECK-LABEL: @layer_norm
// CHECK-SAME: (%[[X:.+]]: tensor<4x8x64xf32>, %[[G:.+]]: tensor<64xf32>, %[[B:.+]]: tensor<64xf32>)
func.func @layer_norm(%x: tensor<4x8x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>)
    -> (tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[SUM:.+]] = hone.reduce sum %[[X]] dims [2]
  // CHECK: %[[N:.+]] = hone.constant dense<6.400000e+01> : tensor<4x8xf32>
  // CHECK: %[[MEAN:.+]] = hone.div %[[SUM]], %[[N]]
  // CHECK: %[[MEANB:.+]] = hone.broadcast %[[MEAN]] dims [0, 1]
  // CHECK: %[[C:.+]] = hone.sub %[[X]], %[[MEANB]]
  // CHECK: %[[CC:.+]] = hone.mul %[[C]], %[[C]]
  // CHECK: %[[SQ:.+]] = hone.reduce sum %[[CC]] dims [2]
  // CHECK: %[[VAR:.+]] = hone.div %[[SQ]], %{{.+}}
  // CHECK: %[[EPS:.+]] = hone.constant dense<9.99999974E-6> : tensor<4x8xf32>
  // CHECK: %[[VE:.+]] = hone.add %[[VAR]], %[[EPS]]
  // CHECK: %[[RSTD:.+]] = hone.rsqrt %[[VE]]
  // CHECK: %[[RSTDB:.+]] = hone.broadcast %[[RSTD]] dims [0, 1]
  // CHECK: %[[H:.+]] = hone.mul %[[C]], %[[RSTDB]]
  // CHECK: %[[GB:.+]] = hone.broadcast %[[G]] dims [2]
  // CHECK: %[[S:.+]] = hone.mul %[[H]], %[[GB]]
  // CHECK: %[[BB:.+]] = hone.broadcast %[[B]] dims [2]
  // CHECK: %[[Y:.+]] = hone.add %[[S]], %[[BB]]
  %y, %mean, %rstd = hone.layer_norm %x scale %g bias %b eps 1.0e-05
      : (tensor<4x8x64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> (tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: return %[[Y]], %[[MEAN]], %[[RSTD]]
  return %y, %mean, %rstd : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A plain norm of a single row: nothing to scale, the statistics are scalars.
// CHECK-LABEL: @layer_norm_of_a_vector
// CHECK: hone.reduce sum %{{.+}} dims [0] : tensor<64xf64> -> tensor<f64>
// CHECK: hone.broadcast %{{.+}} dims [] : tensor<f64> -> tensor<64xf64>
// CHECK: hone.rsqrt
// CHECK-NOT: hone.broadcast %{{.+}} dims [0]
func.func @layer_norm_of_a_vector(%x: tensor<64xf64>) -> tensor<64xf64> {
  %y, %mean, %rstd = hone.layer_norm %x eps 1.0e-05 : (tensor<64xf64>) -> (tensor<64xf64>, tensor<f64>, tensor<f64>)
  return %y : tensor<64xf64>
}

// -----

// Narrow types compute in fp32 and round once, at the end.
// CHECK-LABEL: @rms_norm_bf16
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xbf16>, %[[G:.+]]: tensor<64xbf16>)
func.func @rms_norm_bf16(%x: tensor<8x64xbf16>, %g: tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8xf32>) {
  // CHECK: %[[W:.+]] = hone.cast %[[X]] : tensor<8x64xbf16> -> tensor<8x64xf32>
  // CHECK: %[[SQ:.+]] = hone.mul %[[W]], %[[W]]
  // CHECK: hone.reduce sum %[[SQ]] dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  // CHECK: %[[RSTD:.+]] = hone.rsqrt %{{.+}} : tensor<8xf32>
  // CHECK: %[[RSTDB:.+]] = hone.broadcast %[[RSTD]] dims [0]
  // CHECK: %[[H:.+]] = hone.mul %[[W]], %[[RSTDB]]
  // CHECK: %[[GW:.+]] = hone.cast %[[G]] : tensor<64xbf16> -> tensor<64xf32>
  // CHECK: %[[GB:.+]] = hone.broadcast %[[GW]] dims [1]
  // CHECK: %[[S:.+]] = hone.mul %[[H]], %[[GB]]
  // CHECK: %[[Y:.+]] = hone.cast %[[S]] : tensor<8x64xf32> -> tensor<8x64xbf16>
  // CHECK: return %[[Y]], %[[RSTD]]
  %y, %rstd = hone.rms_norm %x scale %g eps 1.0e-06
      : (tensor<8x64xbf16>, tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8xf32>)
  return %y, %rstd : tensor<8x64xbf16>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @softmax
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @softmax(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[M:.+]] = hone.reduce max %[[X]] dims [1]
  // CHECK: %[[MB:.+]] = hone.broadcast %[[M]] dims [0]
  // CHECK: %[[D:.+]] = hone.sub %[[X]], %[[MB]]
  // CHECK: %[[E:.+]] = hone.exp %[[D]]
  // CHECK: %[[S:.+]] = hone.reduce sum %[[E]] dims [1]
  // CHECK: %[[SB:.+]] = hone.broadcast %[[S]] dims [0]
  // CHECK: %[[Y:.+]] = hone.div %[[E]], %[[SB]]
  // CHECK: return %[[Y]]
  %y = hone.softmax %x : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @cross_entropy_mean
// CHECK-SAME: (%[[X:.+]]: tensor<32x256xf32>, %[[T:.+]]: tensor<32xi64>)
func.func @cross_entropy_mean(%x: tensor<32x256xf32>, %t: tensor<32xi64>) -> (tensor<f32>, tensor<32xf32>) {
  // CHECK: %[[M:.+]] = hone.reduce max %[[X]] dims [1]
  // CHECK: %[[MB:.+]] = hone.broadcast %[[M]] dims [0]
  // CHECK: %[[D:.+]] = hone.sub %[[X]], %[[MB]]
  // CHECK: %[[E:.+]] = hone.exp %[[D]]
  // CHECK: %[[S:.+]] = hone.reduce sum %[[E]] dims [1]
  // CHECK: %[[LOG:.+]] = hone.log %[[S]]
  // CHECK: %[[LSE:.+]] = hone.add %[[M]], %[[LOG]]
  // CHECK: %[[I:.+]] = hone.iota dim 1 : tensor<32x256xi32>
  // CHECK: %[[TI:.+]] = hone.cast %[[T]] : tensor<32xi64> -> tensor<32xi32>
  // CHECK: %[[TB:.+]] = hone.broadcast %[[TI]] dims [0]
  // CHECK: %[[HIT:.+]] = hone.cmp eq, %[[I]], %[[TB]]
  // CHECK: %[[ZERO:.+]] = hone.constant dense<0.000000e+00> : tensor<32x256xf32>
  // CHECK: %[[PICK:.+]] = hone.select %[[HIT]], %[[X]], %[[ZERO]]
  // CHECK: %[[XT:.+]] = hone.reduce sum %[[PICK]] dims [1]
  // CHECK: %[[NLL:.+]] = hone.sub %[[LSE]], %[[XT]]
  // CHECK: %[[IGNORE:.+]] = hone.constant dense<-100> : tensor<32xi64>
  // CHECK: %[[VALID:.+]] = hone.cmp ne, %[[T]], %[[IGNORE]]
  // CHECK: %[[ROWS:.+]] = hone.select %[[VALID]], %[[NLL]], %{{.+}}
  // CHECK: %[[SUM:.+]] = hone.reduce sum %[[ROWS]] dims [0] : tensor<32xf32> -> tensor<f32>
  // CHECK: %[[ONES:.+]] = hone.cast %[[VALID]] : tensor<32xi1> -> tensor<32xf32>
  // CHECK: %[[COUNT:.+]] = hone.reduce sum %[[ONES]] dims [0]
  // CHECK: %[[LOSS:.+]] = hone.div %[[SUM]], %[[COUNT]]
  // CHECK: return %[[LOSS]], %[[LSE]]
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<32x256xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  return %loss, %lse : tensor<f32>, tensor<32xf32>
}

// -----

// CHECK-LABEL: @cross_entropy_sum_of_all_rows
// CHECK: %[[ROWS:.+]] = hone.select
// CHECK: %[[ROWS:.+]] = hone.select
// CHECK: %[[SUM:.+]] = hone.reduce sum %[[ROWS]] dims [0, 1] : tensor<2x16xf32> -> tensor<f32>
// CHECK: return %[[SUM]]
func.func @cross_entropy_sum_of_all_rows(%x: tensor<2x16x256xf32>, %t: tensor<2x16xi64>) -> tensor<f32> {
  %loss, %lse = hone.cross_entropy sum %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<2x16x256xf32>, tensor<2x16xi64> -> tensor<f32>, tensor<2x16xf32>
  return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: @cross_entropy_per_row
// CHECK: %[[ROWS:.+]] = hone.select %{{.+}} : tensor<32xi1>, tensor<32xf32>
// CHECK: return %[[ROWS]]
func.func @cross_entropy_per_row(%x: tensor<32x256xf32>, %t: tensor<32xi64>) -> tensor<32xf32> {
  %loss, %lse = hone.cross_entropy none %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<32x256xf32>, tensor<32xi64> -> tensor<32xf32>, tensor<32xf32>
  return %loss : tensor<32xf32>
}

// -----

// CHECK-LABEL: @cross_entropy_smoothed
// CHECK-SAME: (%[[X:.+]]: tensor<32x256xf32>
// CHECK: hone.log
// CHECK: %[[LSE:.+]] = hone.add
// CHECK: %[[NLL:.+]] = hone.sub %[[LSE]], %{{.+}}
// CHECK: %[[SUM:.+]] = hone.reduce sum %[[X]] dims [1]
// CHECK: %[[MEAN:.+]] = hone.div %[[SUM]], %{{.+}}
// CHECK: %[[SMOOTH:.+]] = hone.sub %[[LSE]], %[[MEAN]]
// CHECK: %[[KEEP:.+]] = hone.constant dense<7.500000e-01> : tensor<32xf32>
// CHECK: %[[A:.+]] = hone.mul %[[NLL]], %[[KEEP]]
// CHECK: %[[SPREAD:.+]] = hone.constant dense<2.500000e-01> : tensor<32xf32>
// CHECK: %[[B:.+]] = hone.mul %[[SMOOTH]], %[[SPREAD]]
// CHECK: hone.add %[[A]], %[[B]]
func.func @cross_entropy_smoothed(%x: tensor<32x256xf32>, %t: tensor<32xi64>) -> tensor<f32> {
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.25
      : tensor<32x256xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  return %loss : tensor<f32>
}

// -----

// i8 does not hold 1000, so no row can be ignored: the mean is over all 32.
// CHECK-LABEL: @cross_entropy_ignores_nothing
// CHECK-NOT: hone.cmp ne
// CHECK: %[[SUM:.+]] = hone.reduce sum %{{.+}} dims [0] : tensor<32xf32> -> tensor<f32>
// CHECK: %[[COUNT:.+]] = hone.constant dense<3.200000e+01> : tensor<f32>
// CHECK: hone.div %[[SUM]], %[[COUNT]]
func.func @cross_entropy_ignores_nothing(%x: tensor<32x256xf32>, %t: tensor<32xi8>) -> tensor<f32> {
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index 1000 label_smoothing 0.0
      : tensor<32x256xf32>, tensor<32xi8> -> tensor<f32>, tensor<32xf32>
  return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: @layer_norm_bwd
// CHECK-SAME: (%[[DY:[^:]+]]: tensor<8x64xf32>, %[[X:[^:]+]]: tensor<8x64xf32>, %[[MEAN:[^:]+]]: tensor<8xf32>, %[[RSTD:[^:]+]]: tensor<8xf32>, %[[G:[^:]+]]: tensor<64xf32>)
func.func @layer_norm_bwd(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>, %mean: tensor<8xf32>, %rstd: tensor<8xf32>,
                          %g: tensor<64xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[GB:.+]] = hone.broadcast %[[G]] dims [1]
  // CHECK: %[[GRAD:.+]] = hone.mul %[[DY]], %[[GB]]
  // CHECK: %[[MB:.+]] = hone.broadcast %[[MEAN]] dims [0]
  // CHECK: %[[RB:.+]] = hone.broadcast %[[RSTD]] dims [0]
  // CHECK: %[[C:.+]] = hone.sub %[[X]], %[[MB]]
  // CHECK: %[[H:.+]] = hone.mul %[[C]], %[[RB]]
  // CHECK: %[[S1:.+]] = hone.reduce sum %[[GRAD]] dims [1]
  // CHECK: %[[M1:.+]] = hone.div %[[S1]]
  // CHECK: %[[M1B:.+]] = hone.broadcast %[[M1]] dims [0]
  // CHECK: %[[GH:.+]] = hone.mul %[[GRAD]], %[[H]]
  // CHECK: %[[S2:.+]] = hone.reduce sum %[[GH]] dims [1]
  // CHECK: %[[M2:.+]] = hone.div %[[S2]]
  // CHECK: %[[M2B:.+]] = hone.broadcast %[[M2]] dims [0]
  // CHECK: %[[HM:.+]] = hone.mul %[[H]], %[[M2B]]
  // CHECK: %[[GM:.+]] = hone.sub %[[GRAD]], %[[M1B]]
  // CHECK: %[[D:.+]] = hone.sub %[[GM]], %[[HM]]
  // CHECK: %[[DX:.+]] = hone.mul %[[RB]], %[[D]]
  // CHECK: return %[[DX]]
  %dx = hone.layer_norm_bwd %dy, %x, %mean, %rstd scale %g
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return %dx : tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @rms_norm_bwd
// CHECK-SAME: (%[[DY:[^:]+]]: tensor<8x64xf32>, %[[X:[^:]+]]: tensor<8x64xf32>, %[[RSTD:[^:]+]]: tensor<8xf32>)
func.func @rms_norm_bwd(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>, %rstd: tensor<8xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[RB:.+]] = hone.broadcast %[[RSTD]] dims [0]
  // CHECK: %[[H:.+]] = hone.mul %[[X]], %[[RB]]
  // CHECK: %[[GH:.+]] = hone.mul %[[DY]], %[[H]]
  // CHECK: %[[S:.+]] = hone.reduce sum %[[GH]] dims [1]
  // CHECK: %[[M:.+]] = hone.div %[[S]]
  // CHECK: %[[MB:.+]] = hone.broadcast %[[M]] dims [0]
  // CHECK: %[[HM:.+]] = hone.mul %[[H]], %[[MB]]
  // CHECK: %[[D:.+]] = hone.sub %[[DY]], %[[HM]]
  // CHECK: hone.mul %[[RB]], %[[D]]
  %dx = hone.rms_norm_bwd %dy, %x, %rstd
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return %dx : tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @softmax_bwd
// CHECK-SAME: (%[[DY:.+]]: tensor<8x64xf32>, %[[Y:.+]]: tensor<8x64xf32>)
func.func @softmax_bwd(%dy: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[P:.+]] = hone.mul %[[DY]], %[[Y]]
  // CHECK: %[[S:.+]] = hone.reduce sum %[[P]] dims [1]
  // CHECK: %[[SB:.+]] = hone.broadcast %[[S]] dims [0]
  // CHECK: %[[D:.+]] = hone.sub %[[DY]], %[[SB]]
  // CHECK: hone.mul %[[Y]], %[[D]]
  %dx = hone.softmax_bwd %dy, %y : tensor<8x64xf32>
  return %dx : tensor<8x64xf32>
}

// -----

// The count of valid rows is made again here; ignored rows get weight 0.
// CHECK-LABEL: @cross_entropy_bwd_mean
// CHECK-SAME: (%[[G:.+]]: tensor<f32>, %[[X:.+]]: tensor<32x256xf32>, %[[T:.+]]: tensor<32xi64>, %[[LSE:.+]]: tensor<32xf32>)
func.func @cross_entropy_bwd_mean(%g: tensor<f32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %lse: tensor<32xf32>)
    -> tensor<32x256xf32> {
  // CHECK: %[[VALID:.+]] = hone.cmp ne, %[[T]]
  // CHECK: %[[ONES:.+]] = hone.cast %[[VALID]]
  // CHECK: %[[COUNT:.+]] = hone.reduce sum %[[ONES]] dims [0]
  // CHECK: %[[W:.+]] = hone.div %[[G]], %[[COUNT]]
  // CHECK: %[[WB:.+]] = hone.broadcast %[[W]] dims [] : tensor<f32> -> tensor<32xf32>
  // CHECK: %[[WROW:.+]] = hone.select %[[VALID]], %[[WB]]
  // CHECK: %[[LSEB:.+]] = hone.broadcast %[[LSE]] dims [0]
  // CHECK: %[[HIT:.+]] = hone.cmp eq
  // CHECK: %[[HOT:.+]] = hone.select %[[HIT]]
  // CHECK: %[[C:.+]] = hone.sub %[[X]], %[[LSEB]]
  // CHECK: %[[P:.+]] = hone.exp %[[C]]
  // CHECK: %[[D:.+]] = hone.sub %[[P]], %[[HOT]]
  // CHECK: %[[WROWB:.+]] = hone.broadcast %[[WROW]] dims [0]
  // CHECK: hone.mul %[[D]], %[[WROWB]]
  %dx = hone.cross_entropy_bwd mean %g, %x, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  return %dx : tensor<32x256xf32>
}

// -----

// CHECK-LABEL: @cross_entropy_bwd_per_row_smoothed
// CHECK-SAME: (%[[G:.+]]: tensor<32xf32>, %{{.+}}: tensor<32x256xf32>
// CHECK: hone.select %{{.+}}, %[[G]]
// CHECK: %[[KEEP:.+]] = hone.constant dense<7.500000e-01> : tensor<32x256xf32>
// CHECK: hone.select %{{.+}}, %[[KEEP]]
// CHECK: %[[SPREAD:.+]] = hone.constant dense<9.765625E-4> : tensor<32x256xf32>
// CHECK: %[[D:.+]] = hone.sub %{{.+}}, %[[SPREAD]]
// CHECK: hone.mul %[[D]]
func.func @cross_entropy_bwd_per_row_smoothed(%g: tensor<32xf32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>,
                                              %lse: tensor<32xf32>) -> tensor<32x256xf32> {
  %dx = hone.cross_entropy_bwd none %g, %x, %t, %lse ignore_index -100 label_smoothing 0.25
      : (tensor<32xf32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  return %dx : tensor<32x256xf32>
}

// -----

// Rows of no elements and no rows at all are rewritten like any others.
// CHECK-LABEL: @empty
// CHECK-NOT: hone.softmax
func.func @empty(%x: tensor<8x0xf32>, %y: tensor<0x8xf32>) -> (tensor<8x0xf32>, tensor<0x8xf32>) {
  %a = hone.softmax %x : tensor<8x0xf32>
  %b, %r = hone.rms_norm %y eps 0.0 : (tensor<0x8xf32>) -> (tensor<0x8xf32>, tensor<0xf32>)
  return %a, %b : tensor<8x0xf32>, tensor<0x8xf32>
}

// -----

// Everything else is left as it was: no folding, no clean-up.
// CHECK-LABEL: @others_untouched
// CHECK: hone.constant dense<1.0
// CHECK: hone.gelu
// CHECK: hone.mul
func.func @others_untouched(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %one = hone.constant dense<1.0> : tensor<8x64xf32>
  %y = hone.gelu tanh %x : tensor<8x64xf32>
  %z = hone.mul %y, %one : tensor<8x64xf32>
  return %z : tensor<8x64xf32>
}
