// RUN: not hone-opt %s --hone-quantize-products=gradients=e5m2 2>&1 | FileCheck %s
// RUN: hone-opt %s --hone-quantize-products -o /dev/null

// CHECK: error: format of gradients is 'e5m2', and hone.precision is no policy of fp8;
// CHECK-SAME: expected --precision=fp8, fp8-block or mxfp8 with it
module attributes {hone.precision = "bf16"} {
  func.func @step() {
    return
  }
}
