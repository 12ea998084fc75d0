// RUN: hone-opt %s --load-pass-plugin=%plugin --tanh-gelu 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// CHECK: hone.gelu{{ +}}tanh %{{.*}} : tensor<8xf32>
// CHECK-NEXT: hone.gelu{{ +}}tanh
// REMARK: remark: now by tanh
// REMARK-NOT: remark: now by tanh
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hone.gelu erf %x : tensor<8xf32>
  %1 = hone.gelu tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
