// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// A buffer is promised to be alone where no byte that the launch writes lies in another: not in place.

// CHECK: func.func private @k0_map(%{{.*}}: memref<64xf32> {llvm.noalias}, %{{.*}}: memref<64xf32> {llvm.noalias}, %{{.*}}: index, %{{.*}}: index)
// CHECK: func.func private @k1_map(%{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>, %{{.*}}: index, %{{.*}}: index)
plan.program @p arena 4096 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 512 : memref<64xf32>
    plan.launch map ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%y: tensor<64xf32>):
      %r = hone.tanh %y : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%b : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%y: tensor<64xf32>):
      %r = hone.tanh %y : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%b : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%y: tensor<64xf32>):
      %r = hone.exp %y : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
  }
}
