// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' | FileCheck %s

// A bias, classes masked out, and casts lie between the products and the loss; smoothed labels. The mask's counter and
// the bias are made again for each chunk, the bias's gradient is added up like the weight's. Sums are rounded once.

// CHECK-LABEL: func.func @biased_masked_and_narrow
// CHECK:       %[[P0:.*]] = hone.dot_general {{.*}} : tensor<4x3xbf16>, tensor<7x3xbf16> -> tensor<4x7xbf16>
// CHECK-NEXT:  %[[C0:.*]] = hone.cast %[[P0]] : tensor<4x7xbf16> -> tensor<4x7xf32>
// CHECK-NEXT:  %[[B0:.*]] = hone.broadcast %{{.*}} dims [1] : tensor<7xf32> -> tensor<4x7xf32>
// CHECK-NEXT:  %[[A0:.*]] = hone.add %[[C0]], %[[B0]]
// CHECK:       hone.iota dim 1 : tensor<4x7xi64>
// CHECK:       %[[M0:.*]] = hone.select %[[MASK:.*]], %[[A0]], %{{.*}} : {{.*}}tensor<4x7xf32>
// CHECK:       %[[L0:.*]], %[[E0:.*]] = hone.cross_entropy none %[[M0]], %{{.*}}{{.*}} 3 label_smoothing 1.000000e-01
// CHECK:       %[[D0:.*]] = hone.cross_entropy_bwd sum %{{.*}}, %[[M0]], %{{.*}}, %[[E0]]{{.*}}smoothing 1.000000e-01
// CHECK:       %[[DM0:.*]] = hone.select %[[MASK]], %[[D0]]
// CHECK:       %[[DC0:.*]] = hone.cast %[[DM0]] : tensor<4x7xf32> -> tensor<4x7xbf16>
// CHECK:       hone.dot_general %[[DC0]], {{.*}} contract [1] x [0]
// CHECK:       hone.dot_general %[[DC0]], {{.*}} contract [0] x [0] : {{.*}} -> tensor<7x3xf32>
// CHECK:       %[[DB0:.*]] = hone.reduce sum %[[DM0]] dims [0] : tensor<4x7xf32> -> tensor<7xf32>
// CHECK:       %[[DB1:.*]] = hone.reduce sum %{{.*}} dims [0] : tensor<2x7xf32> -> tensor<7xf32>
// CHECK-NEXT:  %[[DB:.*]] = hone.add %[[DB1]], %[[DB0]]
// CHECK:       %[[DW:.*]] = hone.cast %{{.*}} : tensor<7x3xf32> -> tensor<7x3xbf16>
// CHECK:       return {{.*}} %[[DW]], %[[DB]] :
func.func @biased_masked_and_narrow(%x: tensor<2x3x3xbf16>, %w: tensor<7x3xbf16>, %b: tensor<7xf32>,
    %t: tensor<2x3xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<2x3x3xbf16>, tensor<7x3xbf16>, tensor<7xf32>) {
  %five = hone.constant dense<5> : tensor<2x3x7xi64>
  %low = hone.constant dense<-1.0e30> : tensor<2x3x7xf32>
  %zero = hone.constant dense<0.0> : tensor<2x3x7xf32>
  %column = hone.iota dim 2 : tensor<2x3x7xi64>
  %mask = hone.cmp lt, %column, %five : tensor<2x3x7xi64> -> tensor<2x3x7xi1>
  %product = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
      : tensor<2x3x3xbf16>, tensor<7x3xbf16> -> tensor<2x3x7xbf16>
  %wide = hone.cast %product : tensor<2x3x7xbf16> -> tensor<2x3x7xf32>
  %bias = hone.broadcast %b dims [2] : tensor<7xf32> -> tensor<2x3x7xf32>
  %sum = hone.add %wide, %bias : tensor<2x3x7xf32>
  %logits = hone.select %mask, %sum, %low : tensor<2x3x7xi1>, tensor<2x3x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index 3 label_smoothing 0.1
      : tensor<2x3x7xf32>, tensor<2x3xi64> -> tensor<f32>, tensor<2x3xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index 3 label_smoothing 0.1
      : (tensor<f32>, tensor<2x3x7xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x3x7xf32>
  %masked = hone.select %mask, %d, %zero : tensor<2x3x7xi1>, tensor<2x3x7xf32>
  %narrow = hone.cast %masked : tensor<2x3x7xf32> -> tensor<2x3x7xbf16>
  %dx = hone.dot_general %narrow, %w batch [] x [] contract [2] x [0]
      : tensor<2x3x7xbf16>, tensor<7x3xbf16> -> tensor<2x3x3xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0, 1] x [0, 1]
      : tensor<2x3x7xbf16>, tensor<2x3x3xbf16> -> tensor<7x3xbf16>
  %db = hone.reduce sum %masked dims [0, 1] : tensor<2x3x7xf32> -> tensor<7xf32>
  return %loss, %dx, %dw, %db : tensor<f32>, tensor<2x3x3xbf16>, tensor<7x3xbf16>, tensor<7xf32>
}
