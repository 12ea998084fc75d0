// RUN: hone-opt %s --hone-mixed-precision="policy=fp8-block report" --hone-verify-precision --verify-diagnostics \
// RUN:   | FileCheck %s
// RUN: hone-opt %s --hone-mixed-precision="policy=mxfp8 keep=layers.{1,7}.*" | FileCheck %s --check-prefix=KEEP

// CHECK: module attributes {hone.precision = "fp8-block"}
module {
  // KEEP-LABEL: @forward
  // CHECK-LABEL: @forward
  func.func @forward(%x: tensor<2x16x64xf32> {hone.kind = "input", hone.fqn = "x"},
                     %a: tensor<64x48xf32> {hone.kind = "param", hone.fqn = "layers.0.up"},
                     %b: tensor<64x48xf32> {hone.kind = "param", hone.fqn = "layers.1.down"},
                     %odd: tensor<24x64xf32> {hone.kind = "param", hone.fqn = "layers.2.odd"},
                     %head: tensor<32x24xf32> {hone.kind = "param", hone.fqn = "head"},
                     %bias: tensor<32xf32> {hone.kind = "param", hone.fqn = "head.bias"},
                     %t: tensor<2x16xi64> {hone.kind = "input", hone.fqn = "t"})
      -> (tensor<f32> {hone.kind = "loss"}) {
    // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [] x [] contract [2] x [0] quantized <block, activation x weight>
    // KEEP: contract [2] x [0] quantized <mx, activation x weight>
    %h = hone.dot_general %x, %a batch [] x [] contract [2] x [0]
        : tensor<2x16x64xf32>, tensor<64x48xf32> -> tensor<2x16x48xf32>
    %g = hone.gelu erf %h : tensor<2x16x48xf32>
    // The weight is on the left.
    // CHECK: contract [1] x [2] quantized <block, weight x activation>
    // KEEP: contract [1] x [2] :
    %r = hone.dot_general %b, %g batch [] x [] contract [1] x [2]
        : tensor<64x48xf32>, tensor<2x16x48xf32> -> tensor<64x2x16xf32>
    // expected-remark@+2 {{stays bf16: a size is 24, no multiple of 16}}
    // CHECK: contract [0] x [1] :
    %o = hone.dot_general %r, %odd batch [] x [] contract [0] x [1]
        : tensor<64x2x16xf32>, tensor<24x64xf32> -> tensor<2x16x24xf32>
    // expected-remark@+1 {{stays bf16: the loss reads it without another product}}
    %l = hone.dot_general %o, %head batch [] x [] contract [2] x [1]
        : tensor<2x16x24xf32>, tensor<32x24xf32> -> tensor<2x16x32xf32>
    %v = hone.broadcast %bias dims [2] : tensor<32xf32> -> tensor<2x16x32xf32>
    %z = hone.add %l, %v : tensor<2x16x32xf32>
    %loss, %lse = hone.cross_entropy mean %z, %t ignore_index -100 label_smoothing 0.0
        : tensor<2x16x32xf32>, tensor<2x16xi64> -> tensor<f32>, tensor<2x16xf32>
    return %loss : tensor<f32>
  }
}
