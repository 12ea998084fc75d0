// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK: plan.program @gpt2 arena 4096 {
// CHECK: plan.argument "w" kind "param" at 0 : tensor<8x64xf32>
// CHECK: plan.function @step {
// CHECK: plan.buffer at 0 : memref<8x64xf32>{{$}}
// CHECK: plan.buffer at 2048 : memref<8x64xf32> for temporaries
// CHECK: plan.launch map ins(%{{.+}} : memref<8x64xf32>) outs(%{{.+}} : memref<8x64xf32>) {
plan.program @gpt2 arena 4096 {
  plan.argument "w" kind "param" at 0 : tensor<8x64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<8x64xf32>
    %y = plan.buffer at 2048 : memref<8x64xf32> for temporaries
    plan.launch map ins(%w : memref<8x64xf32>) outs(%y : memref<8x64xf32>) {
    ^bb0(%a: tensor<8x64xf32>):
      %s = hone.neg %a : tensor<8x64xf32>
      plan.yield %s : tensor<8x64xf32>
    }
  }
}

// CHECK: plan.program @everything arena 8192 categories {activations = 64 : i64} {
// CHECK: plan.argument "tokens" kind "input" at 64 : tensor<4xi64> {role = "tokens", vocab = 61 : i64}
// CHECK: plan.buffer at 128 : memref<8x64xf32> for activations
// CHECK: %[[V:.+]] = plan.view %{{.+}} at 128 : memref<8x64xf32> to memref<8x32xf32, strided<[64, 1]>>
// CHECK: plan.buffer at 4096 : memref<16xf32> for workspaces
// CHECK: plan.buffer at 8128 : memref<f32> for gradients
// CHECK: plan.launch row outs(%[[V]] : memref<8x32xf32, strided<[64, 1]>>) scratch(%{{.+}} : memref<16xf32>)
// CHECK: plan.launch map ins(%{{.+}} : memref<8x64xf32>) {
// CHECK: plan.result "loss", %{{.+}} : memref<f32>
plan.program @everything arena 8192 categories {activations = 64 : i64} {
  plan.argument "tokens" kind "input" at 64 : tensor<4xi64> {role = "tokens", vocab = 61 : i64}
  plan.function @step {
    %w = plan.buffer at 128 : memref<8x64xf32> for activations
    %v = plan.view %w at 128 : memref<8x64xf32> to memref<8x32xf32, strided<[64, 1]>>
    %s = plan.buffer at 4096 : memref<16xf32> for workspaces
    %l = plan.buffer at 8128 : memref<f32> for gradients
    plan.launch row outs(%v : memref<8x32xf32, strided<[64, 1]>>) scratch(%s : memref<16xf32>) {
      %c = hone.constant dense<1.0> : tensor<8x32xf32>
      plan.yield %c : tensor<8x32xf32>
    }
    plan.launch map ins(%w : memref<8x64xf32>) {
    ^bb0(%a: tensor<8x64xf32>):
      plan.yield
    }
    plan.result "loss", %l : memref<f32>
  }
}
