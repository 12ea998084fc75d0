// What width.mlir means, without a width.

func.func @layer_norm(%x: tensor<4x9xf32>, %g: tensor<9xf32>, %b: tensor<9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %gs = hone.slice %g [0] to [6] by [1] : tensor<9xf32> -> tensor<6xf32>
  %bs = hone.slice %b [0] to [6] by [1] : tensor<9xf32> -> tensor<6xf32>
  %ys, %m, %r = hone.layer_norm %xs scale %gs bias %bs eps 0.125
      : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y, %m, %r : tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @layer_norm_plain(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys, %m, %r = hone.layer_norm %xs eps 0.125 : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y, %m, %r : tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @rms_norm(%x: tensor<4x9xf32>, %g: tensor<9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %gs = hone.slice %g [0] to [6] by [1] : tensor<9xf32> -> tensor<6xf32>
  %ys, %r = hone.rms_norm %xs scale %gs eps 0.125 : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y, %r : tensor<4x9xf32>, tensor<4xf32>
}

func.func @layer_norm_bwd(%d: tensor<4x9xf32>, %x: tensor<4x9xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>, %g: tensor<9xf32>) -> (tensor<4x9xf32>) {
  %ds = hone.slice %d [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %gs = hone.slice %g [0] to [6] by [1] : tensor<9xf32> -> tensor<6xf32>
  %ys = hone.layer_norm_bwd %ds, %xs, %m, %r scale %gs
      : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @rms_norm_bwd(%d: tensor<4x9xf32>, %x: tensor<4x9xf32>, %r: tensor<4xf32>, %g: tensor<9xf32>) -> (tensor<4x9xf32>) {
  %ds = hone.slice %d [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %gs = hone.slice %g [0] to [6] by [1] : tensor<9xf32> -> tensor<6xf32>
  %ys = hone.rms_norm_bwd %ds, %xs, %r scale %gs : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @softmax(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys = hone.softmax %xs : tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @softmax_bwd(%d: tensor<4x9xf32>, %o: tensor<4x9xf32>) -> (tensor<4x9xf32>) {
  %ds = hone.slice %d [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %os = hone.slice %o [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys = hone.softmax_bwd %ds, %os : tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_mean_0_0(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %l, %e = hone.cross_entropy mean %xs, %t ignore_index 2 label_smoothing 0.0
      : tensor<4x6xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %l, %e : tensor<f32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_mean_0_0(%g: tensor<f32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys = hone.cross_entropy_bwd mean %g, %xs, %t, %e ignore_index 2 label_smoothing 0.0
      : (tensor<f32>, tensor<4x6xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_mean_0_75(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %l, %e = hone.cross_entropy mean %xs, %t ignore_index 2 label_smoothing 0.75
      : tensor<4x6xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return %l, %e : tensor<f32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_mean_0_75(%g: tensor<f32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys = hone.cross_entropy_bwd mean %g, %xs, %t, %e ignore_index 2 label_smoothing 0.75
      : (tensor<f32>, tensor<4x6xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_none_0_0(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %l, %e = hone.cross_entropy none %xs, %t ignore_index 2 label_smoothing 0.0
      : tensor<4x6xf32>, tensor<4xi64> -> tensor<4xf32>, tensor<4xf32>
  return %l, %e : tensor<4xf32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_none_0_0(%g: tensor<4xf32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys = hone.cross_entropy_bwd none %g, %xs, %t, %e ignore_index 2 label_smoothing 0.0
      : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

func.func @cross_entropy_none_0_75(%x: tensor<4x9xf32>, %t: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %l, %e = hone.cross_entropy none %xs, %t ignore_index 2 label_smoothing 0.75
      : tensor<4x6xf32>, tensor<4xi64> -> tensor<4xf32>, tensor<4xf32>
  return %l, %e : tensor<4xf32>, tensor<4xf32>
}

func.func @cross_entropy_bwd_none_0_75(%g: tensor<4xf32>, %x: tensor<4x9xf32>, %t: tensor<4xi64>, %e: tensor<4xf32>) -> (tensor<4x9xf32>) {
  %xs = hone.slice %x [0, 0] to [4, 6] by [1, 1] : tensor<4x9xf32> -> tensor<4x6xf32>
  %ys = hone.cross_entropy_bwd none %g, %xs, %t, %e ignore_index 2 label_smoothing 0.75
      : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x6xf32>
  %y = hone.pad %ys low [0, 0] high [0, 3] interior [0, 0] : tensor<4x6xf32> -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}
