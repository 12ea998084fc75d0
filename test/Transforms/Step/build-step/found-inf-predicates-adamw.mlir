// The gradient of this loss is infinite whatever the parameter: the step leaves parameter, moments and the count of
// updates as they were, bit for bit, halves the loss scale, and begins to count good steps anew.
// RUN: hone-opt %s --hone-autodiff=scale-loss --hone-build-step --hone-verify-step -o %t.mlir
// RUN: sed 's/, hone.init = {dist = "constant", value = 0.000000e+00 : f64}//g' %t.mlir > %t.random.mlir
// RUN: hone-run --eval %S/Inputs/state.mlir --args 3 > %t.out
// RUN: hone-run --eval %t.random.mlir --entry step --args 3 >> %t.out
// RUN: FileCheck %s --input-file %t.out
// Without loss scaling too, nothing changes.
// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step -o %t.mlir
// RUN: sed 's/, hone.init = {dist = "constant", value = 0.000000e+00 : f64}//g' %t.mlir > %t.random.mlir
// RUN: hone-run --eval %S/Inputs/state.mlir --args 3 > %t.out
// RUN: hone-run --eval %t.random.mlir --entry step --args 3 >> %t.out
// RUN: FileCheck %s --input-file %t.out --check-prefix=PLAIN

// PLAIN-LABEL: @state
// PLAIN-NEXT: result 0: tensor<3xf32> = [[W:\[[-0-9]+.*\]]]{{$}}
// PLAIN-NEXT: result 1: tensor<3xf32> = [[M:\[[-0-9]+.*\]]]{{$}}
// PLAIN-NEXT: result 2: tensor<3xf32> = [[V:\[[-0-9]+.*\]]]{{$}}
// PLAIN: result 0: tensor<3xf32> = [[W]]{{$}}
// PLAIN-NEXT: result 1: tensor<3xf32> = [[M]]{{$}}
// PLAIN-NEXT: result 2: tensor<3xf32> = [[V]]{{$}}

// CHECK-LABEL: @state
// CHECK-NEXT: result 0: tensor<3xf32> = [[W:\[[-0-9]+.*\]]]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [[M:\[[-0-9]+.*\]]]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [[V:\[[-0-9]+.*\]]]{{$}}
// CHECK-NEXT: result 3: tensor<f32> = 65536
// CHECK-NEXT: result 4: tensor<i64> = [[GOOD:[0-9]+]]
// CHECK-NEXT: result 5: tensor<i64> = [[UPDATES:[0-9]+]]
// CHECK-NEXT: result 0: tensor<3xf32> = [[W]]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [[M]]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [[V]]{{$}}
// CHECK-NEXT: result 3: tensor<f32> = 32768
// CHECK-NEXT: result 4: tensor<i64> = 0
// CHECK-NEXT: result 5: tensor<i64> = [[UPDATES]]{{$}}
// CHECK-NEXT: result 6: tensor<f32> = {{-?}}inf
// CHECK-NEXT: result 7: tensor<f32> = inf
func.func @forward(%w: tensor<3xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %inf = hone.constant dense<[0.0, 0x7F800000, 0.0]> : tensor<3xf32>
  %0 = hone.mul %w, %inf : tensor<3xf32>
  %loss = hone.reduce sum %0 dims [0] : tensor<3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
