// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%p: tensor<8x600xf32>, %g: tensor<8x600xf32>, %m: tensor<8x600xi8>, %ms: tensor<8x3xf32>,
                   %v: tensor<8x600xi8>, %vs: tensor<8x3xf32>, %lr: tensor<f32>, %wd: tensor<f32>, %t: tensor<i64>,
                   %c: tensor<f32>) {
  // CHECK: hone.adamw_8bit %{{.+}}, %{{.+}}, %{{.+}} scale %{{.+}}, %{{.+}} scale %{{.+}} lr %{{.+}} weight_decay
  // CHECK-SAME: %{{.+}} step %{{.+}} grad_scale %{{.+}} {beta1
  %p1, %m1, %ms1, %v1, %vs1 = hone.adamw_8bit %p, %g, %m scale %ms, %v scale %vs lr %lr weight_decay %wd step %t
      grad_scale %c {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<8x600xf32>, tensor<8x600xf32>, tensor<8x600xi8>, tensor<8x3xf32>, tensor<8x600xi8>, tensor<8x3xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<8x600xf32>, tensor<8x600xi8>, tensor<8x3xf32>, tensor<8x600xi8>, tensor<8x3xf32>)
  return
}

// CHECK-LABEL: @conditional_with_working_copy
func.func @conditional_with_working_copy(%p: tensor<256xf32>, %m: tensor<256xi8>, %s: tensor<1xf32>, %x: tensor<f32>,
                                   %t: tensor<i64>, %finite: tensor<i1>) {
  // CHECK: hone.adamw_8bit {{.*}} apply %{{.+}} {beta1
  %p1, %m1, %ms1, %v1, %vs1, %c = hone.adamw_8bit %p, %p, %m scale %s, %m scale %s lr %x weight_decay %x step %t
      grad_scale %x apply %finite {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<256xf32>, tensor<256xf32>, tensor<256xi8>, tensor<1xf32>, tensor<256xi8>, tensor<1xf32>, tensor<f32>,
         tensor<f32>, tensor<i64>, tensor<f32>, tensor<i1>)
      -> (tensor<256xf32>, tensor<256xi8>, tensor<1xf32>, tensor<256xi8>, tensor<1xf32>, tensor<256xbf16>)
  return
}
