// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @erf
// CHECK-NEXT: result 0: tensor<5xf32> = [-0.0852318034, 0.265009761, 1.5, -1.08331549, 1.01194561]{{$}}
func.func @erf() -> tensor<5xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0, -1.0, 1.0]> : tensor<5xf32>
  %b = hone.constant dense<[-2.0, -0.5, 0.0, 1.0, 3.0]> : tensor<5xf32>
  %r = hone.gelu_bwd erf %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: @tanh
// CHECK-NEXT: result 0: tensor<5xf32> = [-0.0860992596, 0.26526019, 1.5, -1.08296406, 1.01158416]{{$}}
func.func @tanh() -> tensor<5xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0, -1.0, 1.0]> : tensor<5xf32>
  %b = hone.constant dense<[-2.0, -0.5, 0.0, 1.0, 3.0]> : tensor<5xf32>
  %r = hone.gelu_bwd tanh %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}
