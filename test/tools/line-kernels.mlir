// Kernels of orders along lines of 131,072 elements, the count of rows by expert and running sums: ptxas takes them, nothing
// spills, and a tile of 1024 keys and places is in shared memory. Lines of one tile have no search for ranks.
// REQUIRES: device-code, ptxas
// RUN: hone-opt %s --hone-lower-to-kernels -o %t.mlir
// RUN: device-code %t.mlir sm_80 > %t.ptx
// RUN: ptxas -v -arch=sm_80 %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: grep -c 'Compiling entry' %t.log | FileCheck %s --check-prefix=COUNT
// RUN: FileCheck %s < %t.log

// COUNT: {{^}}11{{$}}
// CHECK-NOT: {{[1-9][0-9]* bytes spill}}
// CHECK: 12288 bytes smem

module attributes {hone.target = "cuda sm_80"} {
plan.program @p arena 1099511627776 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<131072xi64>
    %order = plan.buffer at 1048576 : memref<131072xi64>
    %ones = plan.buffer at 2097152 : memref<131072xf32>
    %counts = plan.buffer at 2621440 : memref<8xf32>
    %back = plan.buffer at 3670016 : memref<131072xi64>
    %k0 = plan.buffer at 4718592 : memref<1x131072xi64> for workspaces
    %p0 = plan.buffer at 5767168 : memref<1x131072xi32> for workspaces
    %k1 = plan.buffer at 6291456 : memref<1x131072xi64> for workspaces
    %p1 = plan.buffer at 7340032 : memref<1x131072xi32> for workspaces
    %short = plan.buffer at 8388608 : memref<4096x8xf32>
    %best = plan.buffer at 8519680 : memref<4096x2xi64>
    %line = plan.buffer at 9437184 : memref<2x1000xf32>
    %sorted = plan.buffer at 9445376 : memref<2x1000xi64>
    plan.launch line ins(%x : memref<131072xi64>) outs(%order : memref<131072xi64>)
        scratch(%k0, %p0 : memref<1x131072xi64>, memref<1x131072xi32>) {
    ^bb0(%a0: tensor<131072xi64>):
      %r = hone.argsort %a0 dim 0 : tensor<131072xi64> -> tensor<131072xi64>
      plan.yield %r : tensor<131072xi64>
    }
    plan.launch line ins(%ones, %x : memref<131072xf32>, memref<131072xi64>) outs(%counts : memref<8xf32>)
        scratch(%k0, %p0, %k1, %p1 : memref<1x131072xi64>, memref<1x131072xi32>, memref<1x131072xi64>, memref<1x131072xi32>) {
    ^bb0(%a0: tensor<131072xf32>, %a1: tensor<131072xi64>):
      %r = hone.put_along sum %a0, %a1 dim 0 : tensor<131072xf32>, tensor<131072xi64> -> tensor<8xf32>
      plan.yield %r : tensor<8xf32>
    }
    plan.launch line ins(%order, %order : memref<131072xi64>, memref<131072xi64>) outs(%back : memref<131072xi64>)
        scratch(%k0, %p0, %k1, %p1 : memref<1x131072xi64>, memref<1x131072xi32>, memref<1x131072xi64>, memref<1x131072xi32>) {
    ^bb0(%a0: tensor<131072xi64>, %a1: tensor<131072xi64>):
      %r = hone.put_along max %a0, %a1 dim 0 : tensor<131072xi64>, tensor<131072xi64> -> tensor<131072xi64>
      plan.yield %r : tensor<131072xi64>
    }
    plan.launch line ins(%short : memref<4096x8xf32>) outs(%best : memref<4096x2xi64>) {
    ^bb0(%a0: tensor<4096x8xf32>):
      %r = hone.topk %a0 dim 1 : tensor<4096x8xf32> -> tensor<4096x2xi64>
      plan.yield %r : tensor<4096x2xi64>
    }
    plan.launch line ins(%line : memref<2x1000xf32>) outs(%sorted : memref<2x1000xi64>) {
    ^bb0(%a0: tensor<2x1000xf32>):
      %r = hone.argsort %a0 dim 1 descending : tensor<2x1000xf32> -> tensor<2x1000xi64>
      plan.yield %r : tensor<2x1000xi64>
    }
    plan.launch data_movement ins(%x : memref<131072xi64>) outs(%back : memref<131072xi64>) {
    ^bb0(%a0: tensor<131072xi64>):
      %r = hone.cumsum %a0 dim 0 : tensor<131072xi64>
      plan.yield %r : tensor<131072xi64>
    }
  }
}
}
