// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @per_row
// CHECK-NEXT: result 0: tensor<3xf32> = [0.46436879, 0, 0.326562643]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [2.46436882, 1.09861231, 3.32656264]{{$}}
func.func @per_row() -> (tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %b = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %l, %s = hone.cross_entropy none %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<3x3xf32>, tensor<3xi64> -> tensor<3xf32>, tensor<3xf32>
  return %l, %s : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @mean_over_rows_not_ignored
// CHECK-NEXT: result 0: tensor<f32> = 0.395465702{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [2.46436882, 1.09861231, 3.32656264]{{$}}
func.func @mean_over_rows_not_ignored() -> (tensor<f32>, tensor<3xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %b = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %l, %s = hone.cross_entropy mean %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<3x3xf32>, tensor<3xi64> -> tensor<f32>, tensor<3xf32>
  return %l, %s : tensor<f32>, tensor<3xf32>
}

// CHECK-LABEL: @total
// CHECK-NEXT: result 0: tensor<f32> = 0.790931404{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [2.46436882, 1.09861231, 3.32656264]{{$}}
func.func @total() -> (tensor<f32>, tensor<3xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %b = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %l, %s = hone.cross_entropy sum %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<3x3xf32>, tensor<3xi64> -> tensor<f32>, tensor<3xf32>
  return %l, %s : tensor<f32>, tensor<3xf32>
}

// CHECK-LABEL: @label_smoothing
// CHECK-NEXT: result 0: tensor<3xf32> = [0.672702134, 0, 0.74322933]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [2.46436882, 1.09861231, 3.32656264]{{$}}
func.func @label_smoothing() -> (tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %b = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %l, %s = hone.cross_entropy none %a, %b ignore_index -100 label_smoothing 2.5e-01
      : tensor<3x3xf32>, tensor<3xi64> -> tensor<3xf32>, tensor<3xf32>
  return %l, %s : tensor<3xf32>, tensor<3xf32>
}

// As in PyTorch.
// CHECK-LABEL: @all_ignored_mean_is_nan
// CHECK-NEXT: result 0: tensor<f32> = nan{{$}}
// CHECK-NEXT: result 1: tensor<1xf32> = [2.09861231]{{$}}
func.func @all_ignored_mean_is_nan() -> (tensor<f32>, tensor<1xf32>) {
  %a = hone.constant dense<[[1.0, 1.0, 1.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[-100]> : tensor<1xi64>
  %l, %s = hone.cross_entropy mean %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<1x3xf32>, tensor<1xi64> -> tensor<f32>, tensor<1xf32>
  return %l, %s : tensor<f32>, tensor<1xf32>
}

// CHECK-LABEL: @all_ignored_sum_is_zero
// CHECK-NEXT: result 0: tensor<f32> = 0{{$}}
// CHECK-NEXT: result 1: tensor<1xf32> = [2.09861231]{{$}}
func.func @all_ignored_sum_is_zero() -> (tensor<f32>, tensor<1xf32>) {
  %a = hone.constant dense<[[1.0, 1.0, 1.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[-100]> : tensor<1xi64>
  %l, %s = hone.cross_entropy sum %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<1x3xf32>, tensor<1xi64> -> tensor<f32>, tensor<1xf32>
  return %l, %s : tensor<f32>, tensor<1xf32>
}

// Without smoothing the mean of the logits has no part in the loss.
// CHECK-LABEL: @infinite_logit_of_another_class
// CHECK-NEXT: result 0: tensor<1xf32> = [0.693147182]{{$}}
// CHECK-NEXT: result 1: tensor<1xf32> = [0.693147182]{{$}}
func.func @infinite_logit_of_another_class() -> (tensor<1xf32>, tensor<1xf32>) {
  %a = hone.constant dense<[[0.0, 0.0, 0xFF800000]]> : tensor<1x3xf32>
  %b = hone.constant dense<[0]> : tensor<1xi64>
  %l, %s = hone.cross_entropy none %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<1x3xf32>, tensor<1xi64> -> tensor<1xf32>, tensor<1xf32>
  return %l, %s : tensor<1xf32>, tensor<1xf32>
}

// The log-sum-exp of -inf alone is -inf, and -inf less -inf NaN.
// CHECK-LABEL: @all_logits_infinite
// CHECK-NEXT: result 0: tensor<1xf32> = [nan]{{$}}
// CHECK-NEXT: result 1: tensor<1xf32> = [-inf]{{$}}
func.func @all_logits_infinite() -> (tensor<1xf32>, tensor<1xf32>) {
  %a = hone.constant dense<[[0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<1x3xf32>
  %b = hone.constant dense<[0]> : tensor<1xi64>
  %l, %s = hone.cross_entropy none %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<1x3xf32>, tensor<1xi64> -> tensor<1xf32>, tensor<1xf32>
  return %l, %s : tensor<1xf32>, tensor<1xf32>
}

// CHECK-LABEL: @large_logits
// CHECK-NEXT: result 0: tensor<1xf32> = [1000]{{$}}
// CHECK-NEXT: result 1: tensor<1xf32> = [1000]{{$}}
func.func @large_logits() -> (tensor<1xf32>, tensor<1xf32>) {
  %a = hone.constant dense<[[0.0, 1000.0, -5.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[0]> : tensor<1xi64>
  %l, %s = hone.cross_entropy none %a, %b ignore_index -100 label_smoothing 0.0
      : tensor<1x3xf32>, tensor<1xi64> -> tensor<1xf32>, tensor<1xf32>
  return %l, %s : tensor<1xf32>, tensor<1xf32>
}
