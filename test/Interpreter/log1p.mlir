// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<4xf32> = [0, 0.693147182, -inf, nan]{{$}}
func.func @values() -> tensor<4xf32> {
  %a = hone.constant dense<[0.0, 1.0, -1.0, -2.0]> : tensor<4xf32>
  %r = hone.log1p %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
