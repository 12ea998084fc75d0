// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<3xf32> = [0.5, 0.880797088, 9.35762291e-14]{{$}}
func.func @values() -> tensor<3xf32> {
  %a = hone.constant dense<[0.0, 2.0, -30.0]> : tensor<3xf32>
  %r = hone.logistic %a : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<3xf32> = [1, 0, nan]{{$}}
func.func @special() -> tensor<3xf32> {
  %a = hone.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = hone.logistic %a : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.logistic %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
