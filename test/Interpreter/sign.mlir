// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<5xf32> = [1, -1, 0, 0, nan]{{$}}
func.func @values() -> tensor<5xf32> {
  %a = hone.constant dense<[3.0, -0.5, 0.0, -0.0, 0x7FC00000]> : tensor<5xf32>
  %r = hone.sign %a : tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: @infinities
// CHECK-NEXT: result 0: tensor<2xf32> = [1, -1]{{$}}
func.func @infinities() -> tensor<2xf32> {
  %a = hone.constant dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
  %r = hone.sign %a : tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @integers
// CHECK-NEXT: result 0: tensor<3xi64> = [-1, 0, 1]{{$}}
func.func @integers() -> tensor<3xi64> {
  %a = hone.constant dense<[-9, 0, 9]> : tensor<3xi64>
  %r = hone.sign %a : tensor<3xi64>
  return %r : tensor<3xi64>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.sign %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
