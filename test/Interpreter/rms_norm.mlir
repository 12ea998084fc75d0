// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @scale
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}0.377964437, 1.51185775, -1.51185775], [-0.339683086, 0, -1.6984154]]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [0.377964437, 0.339683086]{{$}}
func.func @scale() -> (tensor<2x3xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 4.0], [-1.0, 0.0, 5.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[1.0, 2.0, -1.0]> : tensor<3xf32>
  %y, %s = hone.rms_norm %a scale %b eps 1.0e-06 : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  return %y, %s : tensor<2x3xf32>, tensor<2xf32>
}

// CHECK-LABEL: @zeros
// CHECK-NEXT: result 0: tensor<1x2xf32> = {{\[\[}}0, 0]]{{$}}
// CHECK-NEXT: result 1: tensor<1xf32> = [2]{{$}}
func.func @zeros() -> (tensor<1x2xf32>, tensor<1xf32>) {
  %a = hone.constant dense<[[0.0, 0.0]]> : tensor<1x2xf32>
  %y, %s = hone.rms_norm %a eps 2.5e-01 : (tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1xf32>)
  return %y, %s : tensor<1x2xf32>, tensor<1xf32>
}

// CHECK-LABEL: @one_row_without_outer_dimensions
// CHECK-NEXT: result 0: tensor<2xf32> = [0.848528147, 1.1313709]{{$}}
// CHECK-NEXT: result 1: tensor<f32> = 0.282842726{{$}}
func.func @one_row_without_outer_dimensions() -> (tensor<2xf32>, tensor<f32>) {
  %a = hone.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %y, %s = hone.rms_norm %a eps 0.0 : (tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)
  return %y, %s : tensor<2xf32>, tensor<f32>
}
