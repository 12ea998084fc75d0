// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels | FileCheck %s

// A convolution and its gradients are calls of a library: which tensor is computed, element types, and sizes; of
// operands of bf16, a gradient by the weight in f32.

// CHECK-DAG: constant @[[SIZES:[a-z0-9_]+]](dense<[2, 32, 48, 2, 7, 3, 3, 2, 1, 1, 0, 6, 2, 5, 1, 1, 0, 0]> : tensor<18xi64>)
// CHECK: llvm.func @hone_program
// CHECK-NOT: honert_launch(
// CHECK: %[[P:.+]] = llvm.mlir.addressof @[[SIZES]]
// CHECK: llvm.call @honert_convolution(%arg0, %{{[^,]+}}, %{{[^,]+}}, %[[KERNEL:[^,]+]], %[[BF16:[^,]+]], %[[F32:[^,]+]], %[[RANK:[^,]+]], %[[P]], %[[X:[^,]+]], %[[D:[^,]+]], %[[Y:[^,)]+]])
plan.program @p arena 65536 {
  plan.argument "x" kind "input" at 0 : tensor<2x7x6x32xbf16>
  plan.argument "y" kind "input" at 5376 : tensor<2x3x5x48xbf16>
  plan.function @step {
    %x = plan.buffer at 0 : memref<2x7x6x32xbf16>
    %y = plan.buffer at 5376 : memref<2x3x5x48xbf16>
    %d = plan.buffer at 9216 : memref<3x2x16x48xf32>
    plan.launch convolution ins(%x, %y : memref<2x7x6x32xbf16>, memref<2x3x5x48xbf16>) outs(%d : memref<3x2x16x48xf32>) {
    ^bb0(%a: tensor<2x7x6x32xbf16>, %b: tensor<2x3x5x48xbf16>):
      %c = hone.conv_bwd_weight %a, %b strides [2, 1] low [1, 0] high [0, 0] dilations [1, 1]
          : tensor<2x7x6x32xbf16>, tensor<2x3x5x48xbf16> -> tensor<3x2x16x48xf32>
      plan.yield %c : tensor<3x2x16x48xf32>
    }
  }
}

// -----

// No library computes in f64.

// CHECK: llvm.func @hone_program
// CHECK-NOT: honert_convolution
// CHECK: call @honert_launch(
plan.program @p arena 4096 {
  plan.argument "x" kind "input" at 0 : tensor<1x5x2xf64>
  plan.argument "w" kind "param" at 128 : tensor<3x2x2xf64>
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x5x2xf64>
    %w = plan.buffer at 128 : memref<3x2x2xf64>
    %y = plan.buffer at 256 : memref<1x3x2xf64>
    plan.launch convolution ins(%x, %w : memref<1x5x2xf64>, memref<3x2x2xf64>) outs(%y : memref<1x3x2xf64>) {
    ^bb0(%a: tensor<1x5x2xf64>, %b: tensor<3x2x2xf64>):
      %c = hone.conv %a, %b strides [1] low [0] high [0] dilations [1]
          : tensor<1x5x2xf64>, tensor<3x2x2xf64> -> tensor<1x3x2xf64>
      plan.yield %c : tensor<1x3x2xf64>
    }
  }
}

// -----

// A program whose bits no mesh decides computes elements one by one.

// CHECK: llvm.func @hone_program
// CHECK-NOT: honert_convolution
// CHECK: call @honert_launch(
module attributes {hone.mesh_invariant} {
  plan.program @p arena 4096 {
    plan.argument "x" kind "input" at 0 : tensor<1x5x2xf32>
    plan.argument "w" kind "param" at 64 : tensor<3x2x2xf32>
    plan.function @step {
      %x = plan.buffer at 0 : memref<1x5x2xf32>
      %w = plan.buffer at 64 : memref<3x2x2xf32>
      %y = plan.buffer at 128 : memref<1x3x2xf32>
      plan.launch convolution ins(%x, %w : memref<1x5x2xf32>, memref<3x2x2xf32>) outs(%y : memref<1x3x2xf32>) {
      ^bb0(%a: tensor<1x5x2xf32>, %b: tensor<3x2x2xf32>):
        %c = hone.conv %a, %b strides [1] low [0] high [0] dilations [1]
            : tensor<1x5x2xf32>, tensor<3x2x2xf32> -> tensor<1x3x2xf32>
        plan.yield %c : tensor<1x3x2xf32>
      }
    }
  }
}
