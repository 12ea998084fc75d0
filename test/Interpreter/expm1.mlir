// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<4xf32> = [0, 1.71828187, -0.0951625854, -1]{{$}}
func.func @values() -> tensor<4xf32> {
  %a = hone.constant dense<[0.0, 1.0, -0.1, 0xFF800000]> : tensor<4xf32>
  %r = hone.expm1 %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
