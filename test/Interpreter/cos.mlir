// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<3xf32> = [1, 0.540302277, 0.862318873]{{$}}
func.func @values() -> tensor<3xf32> {
  %a = hone.constant dense<[0.0, 1.0, -100.0]> : tensor<3xf32>
  %r = hone.cos %a : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<2xf32> = [nan, nan]{{$}}
func.func @special() -> tensor<2xf32> {
  %a = hone.constant dense<[0xFF800000, 0x7FC00000]> : tensor<2xf32>
  %r = hone.cos %a : tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.cos %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
