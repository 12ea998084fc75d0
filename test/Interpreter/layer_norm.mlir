// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @scale_and_bias
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}-1.06904149, -0.0345207639, -0.336301923], [-0.889000237, -0.516000271, -0.397000372]]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [2.33333325, 1.33333337]{{$}}
// CHECK-NEXT: result 2: tensor<2xf32> = [0.801781178, 0.381000102]{{$}}
func.func @scale_and_bias() -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 4.0], [-1.0, 0.0, 5.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[1.0, 2.0, -1.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.5, 1.0]> : tensor<3xf32>
  %y, %m, %s = hone.layer_norm %a scale %b bias %c eps 1.0e-05
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return %y, %m, %s : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @bare
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}-1.06904149, -0.267260373, 1.33630192], [-0.889000237, -0.508000135, 1.39700043]]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [2.33333325, 1.33333337]{{$}}
// CHECK-NEXT: result 2: tensor<2xf32> = [0.801781178, 0.381000102]{{$}}
func.func @bare() -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 4.0], [-1.0, 0.0, 5.0]]> : tensor<2x3xf32>
  %y, %m, %s = hone.layer_norm %a eps 1.0e-05 : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return %y, %m, %s : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>
}

// No variance: rstd is 1 / sqrt(eps).
// CHECK-LABEL: @width_one
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}0], [0]]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [3, 4]{{$}}
// CHECK-NEXT: result 2: tensor<2xf32> = [2, 2]{{$}}
func.func @width_one() -> (tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %y, %m, %s = hone.layer_norm %a eps 2.5e-01 : (tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>)
  return %y, %m, %s : tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @no_rows
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
// CHECK-NEXT: result 1: tensor<0xf32> = []{{$}}
// CHECK-NEXT: result 2: tensor<0xf32> = []{{$}}
func.func @no_rows() -> (tensor<0x3xf32>, tensor<0xf32>, tensor<0xf32>) {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %y, %m, %s = hone.layer_norm %a eps 1.0e-05 : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>, tensor<0xf32>)
  return %y, %m, %s : tensor<0x3xf32>, tensor<0xf32>, tensor<0xf32>
}

// CHECK-LABEL: @nan_stays_in_its_row
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}nan, nan], [-1, 1]]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [nan, 2]{{$}}
// CHECK-NEXT: result 2: tensor<2xf32> = [nan, 1]{{$}}
func.func @nan_stays_in_its_row() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = hone.constant dense<[[0x7FC00000, 1.0], [1.0, 3.0]]> : tensor<2x2xf32>
  %y, %m, %s = hone.layer_norm %a eps 0.0 : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %y, %m, %s : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
}
