// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels | FileCheck %s

// A convolution of each channel apart is a kernel on vectors of channels. Its gradient by the weight is two: partial
// sums of chunks of rows, and their sum.

// CHECK-LABEL: func.func private @k0_convolution(
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK-LABEL: func.func private @k1_convolution(
// CHECK-SAME: memref<8x144xf32
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK-LABEL: func.func private @k2_convolution(
// CHECK-NOT: math.fma
// CHECK: arith.addf {{.*}} : vector<16xf32>
plan.program @p arena 16384 {
  plan.argument "w" kind "param" at 0 : tensor<3x3x1x16xf32>
  plan.argument "x" kind "input" at 576 : tensor<2x6x6x16xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<3x3x1x16xf32>
    %x = plan.buffer at 576 : memref<2x6x6x16xf32>
    %y = plan.buffer at 5184 : memref<2x6x6x16xf32>
    %d = plan.buffer at 9792 : memref<3x3x1x16xf32>
    %p = plan.buffer at 10368 : memref<8x144xf32>
    plan.launch convolution ins(%x, %w : memref<2x6x6x16xf32>, memref<3x3x1x16xf32>)
        outs(%y : memref<2x6x6x16xf32>) {
    ^bb0(%a: tensor<2x6x6x16xf32>, %b: tensor<3x3x1x16xf32>):
      %c = hone.conv depthwise %a, %b strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
          : tensor<2x6x6x16xf32>, tensor<3x3x1x16xf32> -> tensor<2x6x6x16xf32>
      plan.yield %c : tensor<2x6x6x16xf32>
    }
    plan.launch convolution ins(%x, %y : memref<2x6x6x16xf32>, memref<2x6x6x16xf32>)
        outs(%d : memref<3x3x1x16xf32>) scratch(%p : memref<8x144xf32>) {
    ^bb0(%a: tensor<2x6x6x16xf32>, %b: tensor<2x6x6x16xf32>):
      %c = hone.conv_bwd_weight depthwise %a, %b strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
          : tensor<2x6x6x16xf32>, tensor<2x6x6x16xf32> -> tensor<3x3x1x16xf32>
      plan.yield %c : tensor<3x3x1x16xf32>
    }
  }
}

// -----

// A program whose bits no mesh decides has a kernel of elements.

// CHECK-LABEL: func.func private @k0_convolution(
// CHECK-NOT: vector<16xf32>
// CHECK: llvm.func @k0_convolution_entry
module attributes {hone.mesh_invariant} {
  plan.program @p arena 16384 {
    plan.argument "w" kind "param" at 0 : tensor<3x3x1x16xf32>
    plan.argument "x" kind "input" at 576 : tensor<2x6x6x16xf32>
    plan.function @step {
      %w = plan.buffer at 0 : memref<3x3x1x16xf32>
      %x = plan.buffer at 576 : memref<2x6x6x16xf32>
      %y = plan.buffer at 5184 : memref<2x6x6x16xf32>
      plan.launch convolution ins(%x, %w : memref<2x6x6x16xf32>, memref<3x3x1x16xf32>)
          outs(%y : memref<2x6x6x16xf32>) {
      ^bb0(%a: tensor<2x6x6x16xf32>, %b: tensor<3x3x1x16xf32>):
        %c = hone.conv depthwise %a, %b strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
            : tensor<2x6x6x16xf32>, tensor<3x3x1x16xf32> -> tensor<2x6x6x16xf32>
        plan.yield %c : tensor<2x6x6x16xf32>
      }
    }
  }
}
