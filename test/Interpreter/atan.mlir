// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<4xf32> = [0, 0.785398185, -0.785398185, 1.57079637]{{$}}
func.func @values() -> tensor<4xf32> {
  %a = hone.constant dense<[0.0, 1.0, -1.0, 0x7F800000]> : tensor<4xf32>
  %r = hone.atan %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
