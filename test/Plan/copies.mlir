// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK: plan.program @offloaded arena 512 host 256 {
// CHECK: plan.argument "exp_avg.w" kind "opt" host at 0 : tensor<64xf32>
// CHECK: %[[M:.+]] = plan.buffer at 0 : memref<64xf32> for temporaries
// CHECK: plan.copy up %[[M]] at 0 token 0 : memref<64xf32>
// CHECK: plan.wait 0
// CHECK: plan.copy down %[[M]] at 0 token 1 : memref<64xf32>
// CHECK: plan.wait 1
plan.program @offloaded arena 512 host 256 {
  plan.argument "exp_avg.w" kind "opt" host at 0 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32> for temporaries
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.wait 0
    plan.copy down %m at 0 token 1 : memref<64xf32>
    plan.wait 1
    %y = plan.buffer at 256 : memref<64xf32> for temporaries
  }
}

// A stage may have one, too.
// CHECK: plan.program @stage0 arena 64 host 128 stage 0 categories {temporaries = 64 : i64} {
plan.program @stage0 arena 64 host 128 stage 0 categories {temporaries = 64 : i64} {
}
