// With a width, the elements after it change nothing and come out as 0: the same numbers as on slices, padded again.
// RUN: hone-run --compare %s %S/Inputs/width-sliced.mlir --args 3 --f64 --rtol 1e-12 --atol 1e-12
// Decomposed, they compute the same.
// RUN: hone-opt %s --hone-decompose-rows -o %t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t %s --args 4 --rtol 1e-5 --atol 2e-6

// Random targets are 0 to 3; 2 is ignored.

func.func @layer_norm(%x: tensor<4x9xf32>, %g: tensor<9xf32>, %b: tensor<9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y, %m, %r = hone.layer_norm %x scale %g bias %b eps 0.125 width 6
      : (tensor<4x9xf32>, tensor<9xf32>, tensor<9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y, %m, %r : tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @layer_norm_plain(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y, %m, %r = hone.layer_norm %x eps 0.125 width 6 : (tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y, %m, %r : tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @rms_norm(%x: tensor<4x9xf32>, %g: tensor<9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>) {
  %y, %r = hone.rms_norm %x scale %g eps 0.125 width 6 : (tensor<4x9xf32>, tensor<9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>)
  return %y, %r : tensor<4x9xf32>, tensor<4xf32>
}

func.func @layer_norm_bwd(%d: tensor<4x9xf32>, %x: tensor<4x9xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>, %g: tensor<9xf32>) -> (tensor<4x9xf32>) {
  %y = hone.layer_norm_bwd %d, %x, %m, %r scale %g width 6
      : (tensor<4x9xf32>, tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>, tensor<9xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @rms_norm_bwd(%d: tensor<4x9xf32>, %x: tensor<4x9xf32>, %r: tensor<4xf32>, %g: tensor<9xf32>) -> (tensor<4x9xf32>) {
  %y = hone.rms_norm_bwd %d, %x, %r scale %g width 6 : (tensor<4x9xf32>, tensor<4x9xf32>, tensor<4xf32>, tensor<9xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @softmax(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>) {
  %y = hone.softmax %x width 6 : tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @softmax_bwd(%d: tensor<4x9xf32>, %o: tensor<4x9xf32>) -> (tensor<4x9xf32>) {
  %y = hone.softmax_bwd %d, %o width 6 : tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_mean_0_0(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>) {
  %l, %e = hone.cross_entropy mean %x, %t ignore_index 2 label_smoothing 0.0 width 6
      : tensor<4x9xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %l, %e : tensor<f32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_mean_0_0(%g: tensor<f32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %y = hone.cross_entropy_bwd mean %g, %x, %t, %e ignore_index 2 label_smoothing 0.0 width 6
      : (tensor<f32>, tensor<4x9xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_mean_0_75(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>) {
  %l, %e = hone.cross_entropy mean %x, %t ignore_index 2 label_smoothing 0.75 width 6
      : tensor<4x9xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %l, %e : tensor<f32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_mean_0_75(%g: tensor<f32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %y = hone.cross_entropy_bwd mean %g, %x, %t, %e ignore_index 2 label_smoothing 0.75 width 6
      : (tensor<f32>, tensor<4x9xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_none_0_0(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %l, %e = hone.cross_entropy none %x, %t ignore_index 2 label_smoothing 0.0 width 6
      : tensor<4x9xf32>, tensor<4xi64> -> tensor<4xf32>, tensor<4xf32>
  return %l, %e : tensor<4xf32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_none_0_0(%g: tensor<4xf32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %y = hone.cross_entropy_bwd none %g, %x, %t, %e ignore_index 2 label_smoothing 0.0 width 6
      : (tensor<4xf32>, tensor<4x9xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_none_0_75(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %l, %e = hone.cross_entropy none %x, %t ignore_index 2 label_smoothing 0.75 width 6
      : tensor<4x9xf32>, tensor<4xi64> -> tensor<4xf32>, tensor<4xf32>
  return %l, %e : tensor<4xf32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_none_0_75(%g: tensor<4xf32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %y = hone.cross_entropy_bwd none %g, %x, %t, %e ignore_index 2 label_smoothing 0.75 width 6
      : (tensor<4xf32>, tensor<4x9xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}
