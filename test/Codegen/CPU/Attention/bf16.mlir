// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Keys stay where they are: one instruction multiplies two of their numbers with two of a query and adds both. Scores
// are scaled in fp32; weights are rounded in pairs, and met by pairs of rows of the values.

// CHECK-LABEL: func.func private @k0_attention
// CHECK-SAME:    %[[K:[a-z0-9]+]]: memref<2x128x1x64xbf16>
// CHECK-DAG:   %[[SCALE:.*]] = arith.constant dense<3.000000e-01> : vector<16xf32>
// CHECK-DAG:   memref.alloca() {alignment = 64 : i64} : memref<32x64xf32>
// CHECK:       vector.load %[[K]]{{.*}} : memref<2x128x1x64xbf16>, vector<2xbf16>
// CHECK:       vector.bitcast %{{.*}} : vector<2xbf16> to vector<1xf32>
// CHECK:       llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK:       arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:       math.exp
// CHECK:       arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK:       vector.shuffle %{{.*}}, %{{.*}} [0, 16, 1, 17,
// CHECK:       llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
plan.program @p arena 4194304 {
  plan.function @step {
    %q = plan.buffer at 0 : memref<2x128x4x64xbf16>
    %k = plan.buffer at 131072 : memref<2x128x1x64xbf16>
    %y = plan.buffer at 262144 : memref<2x128x4x64xbf16>
    plan.launch attention ins(%q, %k : memref<2x128x4x64xbf16>, memref<2x128x1x64xbf16>) outs(%y : memref<2x128x4x64xbf16>) {
    ^bb0(%a: tensor<2x128x4x64xbf16>, %b: tensor<2x128x1x64xbf16>):
      %r, %l = hone.attention %a, %b, %b causal scale 0.3
          : (tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>)
          -> (tensor<2x128x4x64xbf16>, tensor<2x4x128xf32>)
      plan.yield %r : tensor<2x128x4x64xbf16>
    }
  }
}
