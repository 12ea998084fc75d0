// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @runs_its_body
// CHECK-NEXT: result 0: tensor<2xf32> = [2, 8]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [2, 4]{{$}}
func.func @runs_its_body() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r:2 = hone.fused map (%x = %a : tensor<2xf32>, %y = %a : tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %s = hone.add %x, %y : tensor<2xf32>
    %t = hone.mul %s, %y : tensor<2xf32>
    hone.yield %t, %s : tensor<2xf32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2xf32>
}
