// Kernels of products of groups of rows, for 8 experts of 4096 x 14336 with 512 rows each on average, and with 64: two
// blocks fit on a multiprocessor, nothing spills, and products are most of what they execute.
// REQUIRES: device-code, ptxas, nvdisasm
// RUN: hone-opt %s --hone-lower-to-kernels -o %t.mlir
// RUN: device-code %t.mlir sm_80 > %t.80.ptx
// RUN: device-code %t.mlir sm_90 > %t.90.ptx
// RUN: %python %S/product_instructions.py %t.80.ptx sm_80 3.4 | FileCheck %s
// RUN: %python %S/product_instructions.py %t.90.ptx sm_90 3.4 | FileCheck %s
// RUN: %python %S/product_instructions.py %t.90.ptx sm_100 3.4 | FileCheck %s

// CHECK-DAG: 0 bytes spilled, 49152 bytes shared, 64 products
// CHECK-DAG: 0 bytes spilled, 36864 bytes shared, 32 products

module attributes {hone.target = "cuda sm_90"} {
plan.program @p arena 1099511627776 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<4096x4096xbf16>
    %few = plan.buffer at 67108864 : memref<512x4096xbf16>
    %up = plan.buffer at 75497472 : memref<8x14336x4096xbf16>
    %down = plan.buffer at 1954545664 : memref<8x4096x14336xbf16>
    %ends = plan.buffer at 3833593856 : memref<8xi32>
    %y = plan.buffer at 3833594112 : memref<4096x14336xbf16>
    %yfew = plan.buffer at 4068475136 : memref<512x14336xbf16>
    %z = plan.buffer at 4097835264 : memref<4096x14336xbf16>
    %dw = plan.buffer at 4332716288 : memref<8x14336x4096xf32>
    plan.launch grouped_contraction ins(%x, %up, %ends : memref<4096x4096xbf16>, memref<8x14336x4096xbf16>, memref<8xi32>)
        outs(%y : memref<4096x14336xbf16>) {
    ^bb0(%a0: tensor<4096x4096xbf16>, %a1: tensor<8x14336x4096xbf16>, %a2: tensor<8xi32>):
      %r = hone.grouped_dot %a0, %a1, %a2 contract 2
          : tensor<4096x4096xbf16>, tensor<8x14336x4096xbf16>, tensor<8xi32> -> tensor<4096x14336xbf16>
      plan.yield %r : tensor<4096x14336xbf16>
    }
    plan.launch grouped_contraction ins(%few, %up, %ends : memref<512x4096xbf16>, memref<8x14336x4096xbf16>, memref<8xi32>)
        outs(%yfew : memref<512x14336xbf16>) {
    ^bb0(%a0: tensor<512x4096xbf16>, %a1: tensor<8x14336x4096xbf16>, %a2: tensor<8xi32>):
      %r = hone.grouped_dot %a0, %a1, %a2 contract 2
          : tensor<512x4096xbf16>, tensor<8x14336x4096xbf16>, tensor<8xi32> -> tensor<512x14336xbf16>
      plan.yield %r : tensor<512x14336xbf16>
    }
    plan.launch grouped_contraction ins(%x, %down, %ends : memref<4096x4096xbf16>, memref<8x4096x14336xbf16>, memref<8xi32>)
        outs(%z : memref<4096x14336xbf16>) {
    ^bb0(%a0: tensor<4096x4096xbf16>, %a1: tensor<8x4096x14336xbf16>, %a2: tensor<8xi32>):
      %r = hone.grouped_dot %a0, %a1, %a2 contract 1
          : tensor<4096x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32> -> tensor<4096x14336xbf16>
      plan.yield %r : tensor<4096x14336xbf16>
    }
    plan.launch grouped_contraction ins(%y, %x, %ends : memref<4096x14336xbf16>, memref<4096x4096xbf16>, memref<8xi32>)
        outs(%dw : memref<8x14336x4096xf32>) {
    ^bb0(%a0: tensor<4096x14336xbf16>, %a1: tensor<4096x4096xbf16>, %a2: tensor<8xi32>):
      %r = hone.grouped_dot_bwd_weight %a0, %a1, %a2
          : tensor<4096x14336xbf16>, tensor<4096x4096xbf16>, tensor<8xi32> -> tensor<8x14336x4096xf32>
      plan.yield %r : tensor<8x14336x4096xf32>
    }
  }
}
}
