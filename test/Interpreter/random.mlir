// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @uniform
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}0.344459116, 0.578601599, 0.985400379], [0.254824162, 0.601893067, 0.288461983]]{{$}}
func.func @uniform() -> tensor<2x3xf32> {
  %a = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %r = hone.random uniform(%a) salt 9 : tensor<3xi64> -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// Negative seeds are taken modulo 2^64.
// CHECK-LABEL: @normal
// CHECK-NEXT: result 0: tensor<5xf32> = [-0.0923489258, 1.01688588, 0.880295873, -0.997531235, 0.612230897]{{$}}
func.func @normal() -> tensor<5xf32> {
  %a = hone.constant dense<[-5, 3, 1]> : tensor<3xi64>
  %r = hone.random normal(%a) salt 9 : tensor<3xi64> -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: @salt_and_step_matter
// CHECK-NEXT: result 0: tensor<2xf32> = [0.508607864, 0.851152539]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [0.743588924, 0.964139402]{{$}}
func.func @salt_and_step_matter() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %b = hone.constant dense<[81985529216486895, 8, 2]> : tensor<3xi64>
  %r = hone.random uniform(%a) salt 10 : tensor<3xi64> -> tensor<2xf32>
  %s = hone.random uniform(%b) salt 9 : tensor<3xi64> -> tensor<2xf32>
  return %r, %s : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %r = hone.random normal(%a) salt 1 : tensor<3xi64> -> tensor<0xf32>
  return %r : tensor<0xf32>
}
