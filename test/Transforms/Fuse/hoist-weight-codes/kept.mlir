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

// Ranks gather the weight where they read it.
module {
  dist.mesh @mesh [<"fs" = 2>]
  func.func @accumulate(%c: tensor<8x16xbf16> {hone.kind = "working_copy", hone.fqn = "w"})
      -> tensor<16x16xf8E4M3FN> {
    // CHECK: dist.all_gather
    // CHECK: hone.quantize
    %w = dist.all_gather %c dim 0 over ["fs"] : tensor<8x16xbf16> -> tensor<16x16xbf16>
    %b, %s = hone.quantize %w tile [1, 128] : tensor<16x16xbf16> -> tensor<16x16xf8E4M3FN>, tensor<1x16xf32>
    return %b : tensor<16x16xf8E4M3FN>
  }
}
