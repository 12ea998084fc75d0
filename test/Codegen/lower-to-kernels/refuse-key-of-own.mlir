// RUN: split-file %s %t
// RUN: not hone-opt %t/row.mlir --hone-lower-to-kernels 2>&1 | FileCheck %s
// RUN: not hone-opt %t/scalar.mlir --hone-lower-to-kernels 2>&1 | FileCheck %s
// RUN: not hone-opt %t/device.mlir --hone-lower-to-kernels 2>&1 | FileCheck %s

// Words are drawn with a key that lies in memory: a kernel cannot draw with one that it makes. One error, no crash.

// CHECK: error: a kernel reads this value from memory and makes it itself, expected an argument of its launch
// CHECK-NOT: error:

//--- row.mlir
plan.program @p arena 8192 {
  plan.function @step {
    %in = plan.buffer at 0 : memref<4x48xf32>
    %out = plan.buffer at 4096 : memref<4x48xf32>
    plan.launch row ins(%in : memref<4x48xf32>) outs(%out : memref<4x48xf32>) {
    ^bb0(%x: tensor<4x48xf32>):
      %key = hone.constant dense<7> : tensor<3xi64>
      %y = hone.dropout %x, %key p 0.5 salt 1 : tensor<4x48xf32>, tensor<3xi64>
      %z = hone.dropout %y, %key p 0.5 salt 2 : tensor<4x48xf32>, tensor<3xi64>
      plan.yield %z : tensor<4x48xf32>
    }
  }
}

//--- scalar.mlir
plan.program @p arena 8192 {
  plan.function @step {
    %in = plan.buffer at 0 : memref<4x48xf32>
    %out = plan.buffer at 4096 : memref<f32>
    %part = plan.buffer at 6144 : memref<1xf32>
    plan.launch row ins(%in : memref<4x48xf32>) outs(%out : memref<f32>) scratch(%part : memref<1xf32>) {
    ^bb0(%x: tensor<4x48xf32>):
      %key = hone.iota dim 0 : tensor<3xi64>
      %y = hone.dropout %x, %key p 0.5 salt 1 : tensor<4x48xf32>, tensor<3xi64>
      %sum = hone.reduce sum %y dims [0, 1] : tensor<4x48xf32> -> tensor<f32>
      plan.yield %sum : tensor<f32>
    }
  }
}

//--- device.mlir
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 8192 {
    plan.function @step {
      %in = plan.buffer at 0 : memref<4x48xf32>
      %out = plan.buffer at 4096 : memref<4x48xf32>
      plan.launch row ins(%in : memref<4x48xf32>) outs(%out : memref<4x48xf32>) {
      ^bb0(%x: tensor<4x48xf32>):
        %key = hone.constant dense<7> : tensor<3xi64>
        %y = hone.dropout %x, %key p 0.5 salt 1 : tensor<4x48xf32>, tensor<3xi64>
        plan.yield %y : tensor<4x48xf32>
      }
    }
  }
}
