// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<4xf32> = [1, -2, -2, inf]{{$}}
func.func @values() -> tensor<4xf32> {
  %a = hone.constant dense<[1.5, -1.5, -2.0, 0x7F800000]> : tensor<4xf32>
  %r = hone.floor %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
