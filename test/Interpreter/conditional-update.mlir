// What `apply` and the working copy of an optimizer mean.
// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @skipped
// CHECK-NEXT: result 0: tensor<3xf32> = [1.00097656, -2, 0.5]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0, 0.100000001, 0]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [0, 0.00999999978, 0]{{$}}
// CHECK-NEXT: result 3: tensor<3xbf16> = [1, -2, 0.5]{{$}}
func.func @skipped() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xbf16>) {
  %p = hone.constant dense<[1.0009765625, -2.0, 0.5]> : tensor<3xf32>
  %g = hone.constant dense<[0x7F800000, 0x7FC00000, 1.0]> : tensor<3xf32>
  %m = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %v = hone.constant dense<[0.0, 0.01, 0.0]> : tensor<3xf32>
  %x = hone.constant dense<0.1> : tensor<f32>
  %t = hone.constant dense<1> : tensor<i64>
  %no = hone.constant dense<false> : tensor<i1>
  %p1, %m1, %v1, %s1 = hone.adamw %p, %g, %m, %v lr %x weight_decay %x step %t grad_scale %x apply %no
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xbf16>)
  return %p1, %m1, %v1, %s1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xbf16>
}

// CHECK-LABEL: @applied
// CHECK-NEXT: result 0: tensor<3xf32> = [0.889999986, -2.0999999, 0.402500004]{{$}}
// CHECK-NEXT: result 1: tensor<3xbf16> = [0.890625, -2.09375, 0.40234375]{{$}}
func.func @applied() -> (tensor<3xf32>, tensor<3xbf16>) {
  %p = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %g = hone.constant dense<[1.0, 1.2, 0.925]> : tensor<3xf32>
  %x = hone.constant dense<0.1> : tensor<f32>
  %one = hone.constant dense<1.0> : tensor<f32>
  %yes = hone.constant dense<true> : tensor<i1>
  %p1, %s1 = hone.sgd %p, %g lr %x weight_decay %x grad_scale %one apply %yes
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>)
      -> (tensor<3xf32>, tensor<3xbf16>)
  return %p1, %s1 : tensor<3xf32>, tensor<3xbf16>
}

// CHECK-LABEL: @skipped_momentum
// CHECK-NEXT: result 0: tensor<2xf32> = [1, -2]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [3, 4]{{$}}
// CHECK-NEXT: result 2: tensor<2xf16> = [1, -2]{{$}}
func.func @skipped_momentum() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf16>) {
  %p = hone.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %b = hone.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %x = hone.constant dense<0.1> : tensor<f32>
  %no = hone.constant dense<false> : tensor<i1>
  %p1, %b1, %s1 = hone.sgd %p, %b lr %x weight_decay %x grad_scale %x buffer %b apply %no {momentum = 0.9}
      : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<i1>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf16>)
  return %p1, %b1, %s1 : tensor<2xf32>, tensor<2xf32>, tensor<2xf16>
}
