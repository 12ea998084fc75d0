// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @max
// CHECK-NEXT: result 0: tensor<3xf32> = [4, 5, 3]{{$}}
func.func @max() -> tensor<3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.reduce max %a dims [0] : tensor<2x3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @min
// CHECK-NEXT: result 0: tensor<2xf32> = [1, -6]{{$}}
func.func @min() -> tensor<2xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.reduce min %a dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @nan_wins
// CHECK-NEXT: result 0: tensor<f32> = nan{{$}}
// CHECK-NEXT: result 1: tensor<f32> = nan{{$}}
func.func @nan_wins() -> (tensor<f32>, tensor<f32>) {
  %a = hone.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>
  %x = hone.reduce max %a dims [0] : tensor<3xf32> -> tensor<f32>
  %n = hone.reduce min %a dims [0] : tensor<3xf32> -> tensor<f32>
  return %x, %n : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: @empty_floats
// CHECK-NEXT: result 0: tensor<f32> = -inf{{$}}
// CHECK-NEXT: result 1: tensor<f32> = inf{{$}}
func.func @empty_floats() -> (tensor<f32>, tensor<f32>) {
  %a = hone.constant dense<> : tensor<0xf32>
  %x = hone.reduce max %a dims [0] : tensor<0xf32> -> tensor<f32>
  %n = hone.reduce min %a dims [0] : tensor<0xf32> -> tensor<f32>
  return %x, %n : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: @empty_integers
// CHECK-NEXT: result 0: tensor<i8> = -128{{$}}
// CHECK-NEXT: result 1: tensor<i8> = 127{{$}}
func.func @empty_integers() -> (tensor<i8>, tensor<i8>) {
  %a = hone.constant dense<> : tensor<0xi8>
  %x = hone.reduce max %a dims [0] : tensor<0xi8> -> tensor<i8>
  %n = hone.reduce min %a dims [0] : tensor<0xi8> -> tensor<i8>
  return %x, %n : tensor<i8>, tensor<i8>
}
