// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<3xf32> = [1, 2, 3]{{$}}
func.func @values() -> tensor<3xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = hone.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
  %r = hone.custom_gradient values(%a : tensor<3xf32>) inputs(%b : tensor<3xf32>) {
  ^bb0(%g: tensor<3xf32>):
    hone.yield %g : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}
