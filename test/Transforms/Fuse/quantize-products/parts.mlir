// RUN: hone-opt %s --hone-quantize-products=report --verify-diagnostics | FileCheck %s
// RUN: not hone-opt %s --hone-quantize-products=gradients=e3m4 2>&1 | FileCheck %s --check-prefix=FORMAT

// FORMAT: error: format of gradients is 'e3m4', expected e4m3 or e5m2

// A rank has 8 rows: the product is one of bf16 again.
// CHECK-LABEL: @part
func.func @part(%x: tensor<8x64xbf16>, %w: tensor<64x48xbf16>) -> tensor<8x48xbf16> {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [] x [] contract [1] x [0] : tensor<8x64xbf16>
  // expected-remark@+1 {{stays bf16: a size of a rank's part is 8, no multiple of 16}}
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] quantized <mx, activation x weight>
      : tensor<8x64xbf16>, tensor<64x48xbf16> -> tensor<8x48xbf16>
  return %y : tensor<8x48xbf16>
}
