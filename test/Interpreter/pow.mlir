// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<4xf32> = [1024, 0.5, 3, 0.00100000005]{{$}}
func.func @values() -> tensor<4xf32> {
  %a = hone.constant dense<[2.0, 2.0, 9.0, 10.0]> : tensor<4xf32>
  %b = hone.constant dense<[10.0, -1.0, 0.5, -3.0]> : tensor<4xf32>
  %r = hone.pow %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// IEEE 754: NaN^0 = 1.
// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<5xf32> = [1, -1, nan, 1, inf]{{$}}
func.func @special() -> tensor<5xf32> {
  %a = hone.constant dense<[0.0, -1.0, -8.0, 0x7FC00000, 0.0]> : tensor<5xf32>
  %b = hone.constant dense<[0.0, 3.0, 0.3333333, 0.0, -1.0]> : tensor<5xf32>
  %r = hone.pow %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<> : tensor<0xf32>
  %r = hone.pow %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
