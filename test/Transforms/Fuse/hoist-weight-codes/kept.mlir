// RUN: hone-opt %s --hone-hoist-weight-codes=report --split-input-file --verify-diagnostics | FileCheck %s

// Weights whose codes are made where they are read.
// CHECK-NOT: @fill_codes

// Only a validation reads them.
module {
  func.func @evaluate(%w: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w"},
                      %c: tensor<16x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) -> tensor<16x16xf8E4M3FN> {
    // CHECK: hone.quantize
    %b, %s = hone.quantize %c tile [1, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x16xf32>
    return %b : tensor<16x16xf8E4M3FN>
  }
}

// -----

// A stage borrows the weight.
// expected-remark@+1 {{codes of 'w' are made in each micro-batch: another stage has the parameter}}
module {
  func.func @accumulate(%c: tensor<16x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"})
      -> tensor<16x16xf8E4M3FN> {
    // CHECK: hone.quantize
    %b, %s = hone.quantize %c tile [1, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x16xf32>
    return %b : tensor<16x16xf8E4M3FN>
  }
}

// -----

// A stage lends it: the other one returns gradients.
// expected-remark@+1 {{codes of 'w' are made in each micro-batch: another stage reads it, too}}
module {
  func.func @accumulate(%c: tensor<16x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"})
      -> tensor<16x16xf8E4M3FN> {
    // CHECK: hone.quantize
    %b, %s = hone.quantize %c tile [1, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x16xf32>
    return %b : tensor<16x16xf8E4M3FN>
  }
  func.func @update(%w: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w"},
                    %g: tensor<16x16xf32> {hone.kind = "grad", hone.fqn = "stage1.w"}) {
    return
  }
}

// -----

// Ranks gather numbers: a block of 128 rows would cross the border of a shard.
module {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @accumulate(%c: tensor<64x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) {
    // CHECK: dist.all_gather {{.+}}bf16
    // expected-remark@+1 {{numbers of 'w' are gathered, not codes: the rows of a rank are no multiple of 128}}
    %w = dist.all_gather %c dim 0 over ["fs"] : tensor<64x16xbf16> -> tensor<128x16xbf16>
    // CHECK: hone.quantize
    %b, %s = hone.quantize %w tile [128, 128] : tensor<128x16xbf16> -> tensor<128x16xf8E4M3FN>, tensor<1x4xf32>
    return
  }
}

// -----

// A scale of 128 of a row, which no recipe gives a weight.
module {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @accumulate(%c: tensor<128x32xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) {
    // CHECK: dist.all_gather {{.+}}bf16
    // expected-remark@+1 {{numbers of 'w' are gathered, not codes: its scales are of 128 of a row}}
    %w = dist.all_gather %c dim 0 over ["fs"] : tensor<128x32xbf16> -> tensor<256x32xbf16>
    // CHECK: hone.quantize
    %b, %s = hone.quantize %w tile [1, 128] : tensor<256x32xbf16> -> tensor<256x32xf8E4M3FN>, tensor<1x256xf32>
    return
  }
}

// -----

// Gathering both would take more bytes.
module {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @accumulate(%c: tensor<128x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) {
    // CHECK: dist.all_gather {{.+}}bf16
    // expected-remark@+1 {{numbers of 'w' are gathered, not codes: not only products of codes read it}}
    %w = dist.all_gather %c dim 0 over ["fs"] : tensor<128x16xbf16> -> tensor<256x16xbf16>
    // CHECK: hone.quantize
    %n = hone.neg %w : tensor<256x16xbf16>
    %b, %s = hone.quantize %w tile [128, 128] : tensor<256x16xbf16> -> tensor<256x16xf8E4M3FN>, tensor<2x4xf32>
    return
  }
}

// -----

// Two formats are two sets of codes.
module {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @accumulate(%c: tensor<128x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) {
    // CHECK: dist.all_gather {{.+}}bf16
    // expected-remark@+1 {{numbers of 'w' are gathered, not codes: products read codes of two formats}}
    %w = dist.all_gather %c dim 0 over ["fs"] : tensor<128x16xbf16> -> tensor<256x16xbf16>
    // CHECK: hone.quantize
    %b, %s = hone.quantize %w tile [128, 128] : tensor<256x16xbf16> -> tensor<256x16xf8E4M3FN>, tensor<2x4xf32>
    %d, %t = hone.quantize %w tile [128, 128] : tensor<256x16xbf16> -> tensor<256x16xf8E5M2>, tensor<2x4xf32>
    return
  }
}

// -----

// Blocks of columns lie apart.
module {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @accumulate(%c: tensor<128x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) {
    // CHECK: dist.all_gather {{.+}}bf16
    // expected-remark@+1 {{numbers of 'w' are gathered, not codes: ranks do not have whole rows of it, one after another}}
    %w = dist.all_gather %c dim 1 over ["fs"] : tensor<128x16xbf16> -> tensor<128x32xbf16>
    // CHECK: hone.quantize
    %b, %s = hone.quantize %w tile [128, 128] : tensor<128x32xbf16> -> tensor<128x32xf8E4M3FN>, tensor<1x4xf32>
    return
  }
}
