// RUN: hone-opt %s --hone-join-stages | FileCheck %s

// CHECK: plan.program @program arena 64 {
// CHECK-NOT: plan.actions
plan.program @program arena 64 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
}
