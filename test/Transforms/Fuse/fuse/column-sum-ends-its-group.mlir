// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A sum over rows is complete after the kernel, not in it.
// CHECK-LABEL: func.func @sum_read_inside
// WHY-COUNT-2: (a sum over rows is complete only after its kernel)
// CHECK: hone.fused row
// CHECK-NEXT:   hone.reduce sum {{.*}} dims [0]
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK:   hone.broadcast
// CHECK:   hone.sub
func.func @sum_read_inside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %c = hone.reduce sum %x dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %b = hone.broadcast %c dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %r = hone.sub %x, %b : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
