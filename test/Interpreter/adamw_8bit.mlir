// RUN: hone-run --eval %s | FileCheck %s

// Codes -128 and -1 are 1; what is 0 stays so.
// CHECK-LABEL: @values
// CHECK-NEXT: result 0: tensor<4xf32> = [0.827402592, -1.62733829, 0.46875, 0.187575594]{{$}}
// CHECK-NEXT: result 1: tensor<4xi8> = [-128, -109, 0, 15]{{$}}
// CHECK-NEXT: result 2: tensor<1xf32> = [0.5]{{$}}
// CHECK-NEXT: result 3: tensor<4xi8> = [-1, -128, 0, 2]{{$}}
// CHECK-NEXT: result 4: tensor<1xf32> = [0.25]{{$}}
func.func @values() -> (tensor<4xf32>, tensor<4xi8>, tensor<1xf32>, tensor<4xi8>, tensor<1xf32>) {
  %p = hone.constant dense<[1.0, -2.0, 0.5, 0.25]> : tensor<4xf32>
  %g = hone.constant dense<[0.5, -0.25, 0.0, 0.001]> : tensor<4xf32>
  %m = hone.constant dense<[-128, -127, 0, 5]> : tensor<4xi8>
  %ms = hone.constant dense<0.5> : tensor<1xf32>
  %v = hone.constant dense<[-1, 100, 0, 1]> : tensor<4xi8>
  %vs = hone.constant dense<0.25> : tensor<1xf32>
  %lr = hone.constant dense<0.125> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %t = hone.constant dense<2> : tensor<i64>
  %one = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1, %ms1, %v1, %vs1 = hone.adamw_8bit %p, %g, %m scale %ms, %v scale %vs lr %lr weight_decay %wd step %t
      grad_scale %one {beta1 = 0.5, beta2 = 0.75, eps = 0.0009765625}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<1xf32>, tensor<4xi8>, tensor<1xf32>, tensor<f32>,
         tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xi8>, tensor<1xf32>, tensor<4xi8>, tensor<1xf32>)
  return %p1, %m1, %ms1, %v1, %vs1 : tensor<4xf32>, tensor<4xi8>, tensor<1xf32>, tensor<4xi8>, tensor<1xf32>
}

// A block does not reach into the next row: of 2 x 300 elements, each row has a block of 256 and one of 44. The first row
// is all 1, the second 2 but for its first element, 4; a code is of its block.
// CHECK-LABEL: @blocks
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}1, 1], [4, 2]]{{$}}
// CHECK-NEXT: result 1: tensor<2x3xi8> = {{\[\[}}-128, -128, -128], [-128, 92, -128]]{{$}}
func.func @blocks() -> (tensor<2x2xf32>, tensor<2x3xi8>) {
  %low = hone.constant dense<1.0> : tensor<1x300xf32>
  %four = hone.constant dense<4.0> : tensor<1x1xf32>
  %two = hone.constant dense<2.0> : tensor<1x299xf32>
  %g = hone.concat %four, %two dim 1 : (tensor<1x1xf32>, tensor<1x299xf32>) -> tensor<1x300xf32>
  %grad = hone.concat %low, %g dim 0 : (tensor<1x300xf32>, tensor<1x300xf32>) -> tensor<2x300xf32>
  %p = hone.constant dense<0.0> : tensor<2x300xf32>
  %m = hone.constant dense<0> : tensor<2x300xi8>
  %s = hone.constant dense<0.0> : tensor<2x2xf32>
  %t = hone.constant dense<1> : tensor<i64>
  %one = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1, %ms1, %v1, %vs1 = hone.adamw_8bit %p, %grad, %m scale %s, %m scale %s lr %one weight_decay %one step %t
      grad_scale %one {beta1 = 0.0, beta2 = 0.0, eps = 1.0}
      : (tensor<2x300xf32>, tensor<2x300xf32>, tensor<2x300xi8>, tensor<2x2xf32>, tensor<2x300xi8>, tensor<2x2xf32>,
         tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<2x300xf32>, tensor<2x300xi8>, tensor<2x2xf32>, tensor<2x300xi8>, tensor<2x2xf32>)
  %picked = hone.slice %m1 [0, 0] to [2, 257] by [1, 128] : tensor<2x300xi8> -> tensor<2x3xi8>
  return %ms1, %picked : tensor<2x2xf32>, tensor<2x3xi8>
}

// CHECK-LABEL: @skipped
// CHECK-NEXT: result 0: tensor<2xf32> = [1.00097656, -2]{{$}}
// CHECK-NEXT: result 1: tensor<2xi8> = [3, -128]{{$}}
// CHECK-NEXT: result 2: tensor<1xf32> = [0.5]{{$}}
// CHECK-NEXT: result 3: tensor<2xi8> = [3, -128]{{$}}
// CHECK-NEXT: result 4: tensor<1xf32> = [0.5]{{$}}
// CHECK-NEXT: result 5: tensor<2xbf16> = [1, -2]{{$}}
func.func @skipped() -> (tensor<2xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xbf16>) {
  %p = hone.constant dense<[1.0009765625, -2.0]> : tensor<2xf32>
  %g = hone.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %m = hone.constant dense<[3, -128]> : tensor<2xi8>
  %s = hone.constant dense<0.5> : tensor<1xf32>
  %x = hone.constant dense<0.1> : tensor<f32>
  %t = hone.constant dense<1> : tensor<i64>
  %no = hone.constant dense<false> : tensor<i1>
  %p1, %m1, %ms1, %v1, %vs1, %c1 = hone.adamw_8bit %p, %g, %m scale %s, %m scale %s lr %x weight_decay %x step %t
      grad_scale %x apply %no {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xi8>, tensor<1xf32>, tensor<f32>,
         tensor<f32>, tensor<i64>, tensor<f32>, tensor<i1>)
      -> (tensor<2xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xbf16>)
  return %p1, %m1, %ms1, %v1, %vs1, %c1
      : tensor<2xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xi8>, tensor<1xf32>, tensor<2xbf16>
}
