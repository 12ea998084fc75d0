// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @booleans
// CHECK-NEXT: result 0: tensor<2x2xi1> = {{\[\[}}false, true], [true, false]]{{$}}
func.func @booleans() -> tensor<2x2xi1> {
  %a = hone.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  %r = hone.not %a : tensor<2x2xi1>
  return %r : tensor<2x2xi1>
}

// CHECK-LABEL: @integers
// CHECK-NEXT: result 0: tensor<3xi32> = [-1, 0, -6]{{$}}
func.func @integers() -> tensor<3xi32> {
  %a = hone.constant dense<[0, -1, 5]> : tensor<3xi32>
  %r = hone.not %a : tensor<3xi32>
  return %r : tensor<3xi32>
}
