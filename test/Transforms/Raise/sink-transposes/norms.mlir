// RUN: hone-opt %s --hone-sink-transposes | FileCheck %s
// RUN: hone-opt %s --hone-sink-transposes -o %t && hone-run --compare %s %t --entry block --args 3 --rtol 0

// A block as ConvNeXt has it: norms work on channels that are last, the residual on channels that are second. No
// transpose of an image is left.

// CHECK-LABEL: func.func @block(
// CHECK: %[[N:[a-z0-9_]+]], %{{.*}} = hone.layer_norm
// CHECK-NEXT: %[[C:.+]] = hone.conv depthwise %[[N]]
// CHECK-NEXT: %[[M:[a-z0-9_]+]], %{{.*}} = hone.layer_norm %[[C]]
// CHECK-NEXT: %[[A:.+]] = hone.add %[[N]], %[[M]] : tensor<2x6x6x4xf32>
// CHECK-NEXT: hone.conv depthwise %[[A]]
// CHECK-NOT: hone.transpose
func.func @block(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x1x4xf32>, %s: tensor<4xf32>) -> tensor<2x6x6x4xf32> {
  %n, %m0, %r0 = hone.layer_norm %x scale %s eps 1.0e-5
      : (tensor<2x6x6x4xf32>, tensor<4xf32>) -> (tensor<2x6x6x4xf32>, tensor<2x6x6xf32>, tensor<2x6x6xf32>)
  %t = hone.transpose %n [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %l = hone.transpose %t [0, 2, 3, 1] : tensor<2x4x6x6xf32> -> tensor<2x6x6x4xf32>
  %c = hone.conv depthwise %l, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x1x4xf32> -> tensor<2x6x6x4xf32>
  %k, %m1, %r1 = hone.layer_norm %c scale %s eps 1.0e-5
      : (tensor<2x6x6x4xf32>, tensor<4xf32>) -> (tensor<2x6x6x4xf32>, tensor<2x6x6xf32>, tensor<2x6x6xf32>)
  %u = hone.transpose %k [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %a = hone.add %t, %u : tensor<2x4x6x6xf32>
  %b = hone.transpose %a [0, 2, 3, 1] : tensor<2x4x6x6xf32> -> tensor<2x6x6x4xf32>
  %y = hone.conv depthwise %b, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x1x4xf32> -> tensor<2x6x6x4xf32>
  return %y : tensor<2x6x6x4xf32>
}
