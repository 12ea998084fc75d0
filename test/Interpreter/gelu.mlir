// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @erf
// CHECK-NEXT: result 0: tensor<5xf32> = [-0.0455002636, -0.154268771, 0, 0.841344774, 2.99595022]{{$}}
func.func @erf() -> tensor<5xf32> {
  %a = hone.constant dense<[-2.0, -0.5, 0.0, 1.0, 3.0]> : tensor<5xf32>
  %r = hone.gelu erf %a : tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: @tanh
// CHECK-NEXT: result 0: tensor<5xf32> = [-0.0454023071, -0.154285997, 0, 0.841192007, 2.99636269]{{$}}
func.func @tanh() -> tensor<5xf32> {
  %a = hone.constant dense<[-2.0, -0.5, 0.0, 1.0, 3.0]> : tensor<5xf32>
  %r = hone.gelu tanh %a : tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: @far_out
// CHECK-NEXT: result 0: tensor<3xf32> = [30, -0, nan]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [30, -0, nan]{{$}}
func.func @far_out() -> (tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[30.0, -30.0, 0x7FC00000]> : tensor<3xf32>
  %r = hone.gelu erf %a : tensor<3xf32>
  %s = hone.gelu tanh %a : tensor<3xf32>
  return %r, %s : tensor<3xf32>, tensor<3xf32>
}
