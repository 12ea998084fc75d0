// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @booleans
// CHECK-NEXT: result 0: tensor<4xi1> = [true, true, true, false]{{$}}
func.func @booleans() -> tensor<4xi1> {
  %a = hone.constant dense<[true, true, false, false]> : tensor<4xi1>
  %b = hone.constant dense<[true, false, true, false]> : tensor<4xi1>
  %r = hone.or %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// CHECK-LABEL: @integers
// CHECK-NEXT: result 0: tensor<3xi32> = [14, -1, 5]{{$}}
func.func @integers() -> tensor<3xi32> {
  %a = hone.constant dense<[12, -8, 5]> : tensor<3xi32>
  %b = hone.constant dense<[10, 7, 0]> : tensor<3xi32>
  %r = hone.or %a, %b : tensor<3xi32>
  return %r : tensor<3xi32>
}
