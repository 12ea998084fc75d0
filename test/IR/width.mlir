// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// Row ops of which the last elements of each row are padding.
// CHECK-LABEL: @width
func.func @width(%x: tensor<8x64xf32>, %r: tensor<8xf32>, %s: tensor<64xf32>, %t: tensor<8xi64>, %g: tensor<f32>) {
  // CHECK: hone.layer_norm %{{.+}} scale %{{.+}} eps 1.000000e-05 width 50 :
  %a:3 = hone.layer_norm %x scale %s eps 1.0e-05 width 50
      : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: hone.rms_norm %{{.+}} eps 1.000000e-05 width 50 :
  %b:2 = hone.rms_norm %x eps 1.0e-05 width 50 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  // CHECK: hone.layer_norm_bwd %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale %{{.+}} width 50 :
  %c = hone.layer_norm_bwd %x, %x, %r, %r scale %s width 50
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  // CHECK: hone.rms_norm_bwd %{{.+}}, %{{.+}}, %{{.+}} width 50 :
  %d = hone.rms_norm_bwd %x, %x, %r width 50
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  // CHECK: hone.softmax %{{.+}} width 50 :
  %e = hone.softmax %x width 50 : tensor<8x64xf32>
  // CHECK: hone.softmax_bwd %{{.+}}, %{{.+}} width 50 :
  %f = hone.softmax_bwd %x, %e width 50 : tensor<8x64xf32>
  // CHECK: hone.cross_entropy mean %{{.+}}, %{{.+}} ignore_index -100 label_smoothing 0.000000e+00 width 50 :
  %h:2 = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 width 50
      : tensor<8x64xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  // CHECK: hone.cross_entropy_bwd mean %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore_index -100 label_smoothing 0.000000e+00 width 50 :
  %i = hone.cross_entropy_bwd mean %g, %x, %t, %r ignore_index -100 label_smoothing 0.0 width 50
      : (tensor<f32>, tensor<8x64xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}
