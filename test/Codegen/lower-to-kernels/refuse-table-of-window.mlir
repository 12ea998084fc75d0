// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// A device kernel of many tensors has their places in its code, so that a run for another micro-batch would find those of
// the first.
// CHECK: error: 'plan.launch' op reads window 'saved.0' by a table of places, expected arguments of one instance
module attributes {hone.target = "cuda sm_80"} {
  dist.mesh @mesh [<"pp" = 1>]
  plan.program @stage0 arena 512 stage 0 {
    plan.argument "a" kind "grad" at 0 : tensor<8xf32>
    plan.argument "b" kind "grad" at 64 : tensor<8xf32>
    plan.argument "saved.0" kind "saved" at 128 window 2 : tensor<8xf32>
    plan.function @backward_weight {
      %a = plan.buffer at 0 : memref<8xf32>
      %b = plan.buffer at 64 : memref<8xf32>
      %saved = plan.buffer at 128 : memref<8xf32>
      plan.launch multi_tensor ins(%a, %saved, %b : memref<8xf32>, memref<8xf32>, memref<8xf32>)
          outs(%a, %b : memref<8xf32>, memref<8xf32>) {
      ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>):
        %0 = hone.add %x, %y : tensor<8xf32>
        %1 = hone.add %z, %y : tensor<8xf32>
        plan.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
      }
    }
  }
}
