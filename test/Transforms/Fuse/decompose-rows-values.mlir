// The primitives compute what the named ops do: in double to 1e-12, in fp32 to its rounding errors.
// RUN: hone-opt %s --hone-decompose-rows -o %t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t %s --args 4 --rtol 1e-5 --atol 2e-6
// REQUIRES: hone-run

// Random targets are 0 to 3; 2 is ignored.

func.func @layer_norm(%x: tensor<5x37xf32>, %g: tensor<37xf32>, %b: tensor<37xf32>)
    -> (tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>) {
  %y, %mean, %rstd = hone.layer_norm %x scale %g bias %b eps 0.125
      : (tensor<5x37xf32>, tensor<37xf32>, tensor<37xf32>) -> (tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>)
  return %y, %mean, %rstd : tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>
}

func.func @layer_norm_plain(%x: tensor<2x3x37xf32>) -> (tensor<2x3x37xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %y, %mean, %rstd = hone.layer_norm %x eps 0.125
      : (tensor<2x3x37xf32>) -> (tensor<2x3x37xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return %y, %mean, %rstd : tensor<2x3x37xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @layer_norm_of_a_vector(%x: tensor<37xf32>, %g: tensor<37xf32>) -> (tensor<37xf32>, tensor<f32>, tensor<f32>) {
  %y, %mean, %rstd = hone.layer_norm %x scale %g eps 0.125
      : (tensor<37xf32>, tensor<37xf32>) -> (tensor<37xf32>, tensor<f32>, tensor<f32>)
  return %y, %mean, %rstd : tensor<37xf32>, tensor<f32>, tensor<f32>
}

func.func @rms_norm(%x: tensor<2x3x37xf32>, %g: tensor<37xf32>) -> (tensor<2x3x37xf32>, tensor<2x3xf32>) {
  %y, %rstd = hone.rms_norm %x scale %g eps 0.125
      : (tensor<2x3x37xf32>, tensor<37xf32>) -> (tensor<2x3x37xf32>, tensor<2x3xf32>)
  return %y, %rstd : tensor<2x3x37xf32>, tensor<2x3xf32>
}

func.func @layer_norm_bwd(%dy: tensor<5x37xf32>, %x: tensor<5x37xf32>, %m: tensor<5xf32>, %r: tensor<5xf32>,
                          %g: tensor<37xf32>) -> (tensor<5x37xf32>, tensor<5x37xf32>) {
  %a = hone.layer_norm_bwd %dy, %x, %m, %r scale %g
      : (tensor<5x37xf32>, tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>, tensor<37xf32>) -> tensor<5x37xf32>
  %b = hone.layer_norm_bwd %dy, %x, %m, %r
      : (tensor<5x37xf32>, tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5x37xf32>
  return %a, %b : tensor<5x37xf32>, tensor<5x37xf32>
}

func.func @rms_norm_bwd(%dy: tensor<5x37xf32>, %x: tensor<5x37xf32>, %r: tensor<5xf32>, %g: tensor<37xf32>)
    -> (tensor<5x37xf32>, tensor<5x37xf32>) {
  %a = hone.rms_norm_bwd %dy, %x, %r scale %g
      : (tensor<5x37xf32>, tensor<5x37xf32>, tensor<5xf32>, tensor<37xf32>) -> tensor<5x37xf32>
  %b = hone.rms_norm_bwd %dy, %x, %r
      : (tensor<5x37xf32>, tensor<5x37xf32>, tensor<5xf32>) -> tensor<5x37xf32>
  return %a, %b : tensor<5x37xf32>, tensor<5x37xf32>
}

func.func @softmax(%x: tensor<5x37xf32>, %dy: tensor<5x37xf32>) -> (tensor<5x37xf32>, tensor<5x37xf32>) {
  %y = hone.softmax %x : tensor<5x37xf32>
  %dx = hone.softmax_bwd %dy, %y : tensor<5x37xf32>
  return %y, %dx : tensor<5x37xf32>, tensor<5x37xf32>
}

// A masked element has probability 0; logits far apart do not overflow.
func.func @softmax_of_extremes() -> tensor<2x4xf32> {
  %x = hone.constant dense<[[0.0, 0xFF800000, 1.0, -1.0], [1.0e4, -1.0e4, 9.999e3, 0.0]]> : tensor<2x4xf32>
  %y = hone.softmax %x : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

func.func @cross_entropy_mean(%x: tensor<3x7x64xf32>, %t: tensor<3x7xi64>) -> (tensor<f32>, tensor<3x7xf32>) {
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index 2 label_smoothing 0.25
      : tensor<3x7x64xf32>, tensor<3x7xi64> -> tensor<f32>, tensor<3x7xf32>
  return %loss, %lse : tensor<f32>, tensor<3x7xf32>
}

func.func @cross_entropy_sum(%x: tensor<21x64xf32>, %t: tensor<21xi32>) -> tensor<f32> {
  %loss, %lse = hone.cross_entropy sum %x, %t ignore_index 2 label_smoothing 0.0
      : tensor<21x64xf32>, tensor<21xi32> -> tensor<f32>, tensor<21xf32>
  return %loss : tensor<f32>
}

func.func @cross_entropy_per_row(%x: tensor<21x64xf32>, %t: tensor<21xi8>) -> tensor<21xf32> {
  %loss, %lse = hone.cross_entropy none %x, %t ignore_index -100 label_smoothing 0.25
      : tensor<21x64xf32>, tensor<21xi8> -> tensor<21xf32>, tensor<21xf32>
  return %loss : tensor<21xf32>
}

// 260 classes: an i8 counter would wrap around and hit a target twice.
func.func @cross_entropy_of_narrow_targets(%x: tensor<21x260xf32>, %t: tensor<21xi8>) -> tensor<f32> {
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index 1000 label_smoothing 0.0
      : tensor<21x260xf32>, tensor<21xi8> -> tensor<f32>, tensor<21xf32>
  return %loss : tensor<f32>
}

func.func @cross_entropy_of_one_row(%x: tensor<64xf32>, %t: tensor<i64>) -> (tensor<f32>, tensor<f32>) {
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<64xf32>, tensor<i64> -> tensor<f32>, tensor<f32>
  return %loss, %lse : tensor<f32>, tensor<f32>
}

// NaN, as in PyTorch.
func.func @cross_entropy_of_ignored_rows(%x: tensor<3x64xf32>) -> tensor<f32> {
  %t = hone.constant dense<-100> : tensor<3xi64>
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<3x64xf32>, tensor<3xi64> -> tensor<f32>, tensor<3xf32>
  return %loss : tensor<f32>
}

func.func @cross_entropy_bwd_mean(%g: tensor<f32>, %x: tensor<3x7x64xf32>, %t: tensor<3x7xi64>, %lse: tensor<3x7xf32>)
    -> tensor<3x7x64xf32> {
  %dx = hone.cross_entropy_bwd mean %g, %x, %t, %lse ignore_index 2 label_smoothing 0.25
      : (tensor<f32>, tensor<3x7x64xf32>, tensor<3x7xi64>, tensor<3x7xf32>) -> tensor<3x7x64xf32>
  return %dx : tensor<3x7x64xf32>
}

func.func @cross_entropy_bwd_sum(%g: tensor<f32>, %x: tensor<21x64xf32>, %t: tensor<21xi64>, %lse: tensor<21xf32>)
    -> tensor<21x64xf32> {
  %dx = hone.cross_entropy_bwd sum %g, %x, %t, %lse ignore_index 2 label_smoothing 0.0
      : (tensor<f32>, tensor<21x64xf32>, tensor<21xi64>, tensor<21xf32>) -> tensor<21x64xf32>
  return %dx : tensor<21x64xf32>
}

func.func @cross_entropy_bwd_per_row(%g: tensor<21xf32>, %x: tensor<21x64xf32>, %t: tensor<21xi64>, %lse: tensor<21xf32>)
    -> tensor<21x64xf32> {
  %dx = hone.cross_entropy_bwd none %g, %x, %t, %lse ignore_index 2 label_smoothing 0.25
      : (tensor<21xf32>, tensor<21x64xf32>, tensor<21xi64>, tensor<21xf32>) -> tensor<21x64xf32>
  return %dx : tensor<21x64xf32>
}

func.func @cross_entropy_bwd_of_one_row(%g: tensor<f32>, %x: tensor<64xf32>, %t: tensor<i64>, %lse: tensor<f32>)
    -> tensor<64xf32> {
  %dx = hone.cross_entropy_bwd mean %g, %x, %t, %lse ignore_index 2 label_smoothing 0.0
      : (tensor<f32>, tensor<64xf32>, tensor<i64>, tensor<f32>) -> tensor<64xf32>
  return %dx : tensor<64xf32>
}
