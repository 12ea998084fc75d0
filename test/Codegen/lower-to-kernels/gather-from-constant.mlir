// A gather from a table of equal numbers reads no memory: the kernel has no buffer for such a table.
// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// CHECK-LABEL: func.func private @k0_map
// CHECK-SAME: (%{{.*}}: memref<12xi64> {{.*}}, %[[OUT:.*]]: memref<12xi8> {{[^,]*}}, %{{[^,]*}}: index, %{{.*}}: index)
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: vector.broadcast %[[ONE]] : f32 to vector<16xf32>
// CHECK-NOT: load
// CHECK: vector.maskedstore %[[OUT]]
plan.program @p arena 8192 {
  plan.function @step {
    %ids = plan.buffer at 0 : memref<3x4xi64>
    %mask = plan.buffer at 4096 : memref<3x4x1xi1>
    plan.launch map ins(%ids : memref<3x4xi64>) outs(%mask : memref<3x4x1xi1>) {
    ^bb0(%i: tensor<3x4xi64>):
      %table = hone.constant dense<1.000000e+00> : tensor<5x1xf32>
      %rows = hone.embedding %table, %i : tensor<5x1xf32>, tensor<3x4xi64> -> tensor<3x4x1xf32>
      %bits = hone.cast %rows : tensor<3x4x1xf32> -> tensor<3x4x1xi1>
      plan.yield %bits : tensor<3x4x1xi1>
    }
  }
}
