// RUN: hone-run --eval %s | FileCheck %s --check-prefix=SINGLE
// RUN: hone-run --eval %s --f64 | FileCheck %s --check-prefix=DOUBLE

// 2^24 + 1 needs 25 bits.
// SINGLE-LABEL: @sum
// SINGLE-NEXT: result 0: tensor<1xf32> = [16777216]
// DOUBLE-LABEL: @sum
// DOUBLE-NEXT: result 0: tensor<1xf32> = [16777217]
func.func @sum() -> tensor<1xf32> {
  %x = hone.constant dense<16777216.0> : tensor<1xf32>
  %y = hone.constant dense<1.0> : tensor<1xf32>
  %r = hone.add %x, %y : tensor<1xf32>
  return %r : tensor<1xf32>
}

// In double no cast rounds: bf16 stands for double too.
// SINGLE-LABEL: @cast
// SINGLE-NEXT: result 0: tensor<1xf32> = [1]
// DOUBLE-LABEL: @cast
// DOUBLE-NEXT: result 0: tensor<1xf32> = [1.00097656]
func.func @cast() -> tensor<1xf32> {
  %x = hone.constant dense<1.0009765625> : tensor<1xf32>
  %n = hone.cast %x : tensor<1xf32> -> tensor<1xbf16>
  %r = hone.cast %n : tensor<1xbf16> -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// f64 is double in both.
// SINGLE-LABEL: @double
// SINGLE-NEXT: result 0: tensor<1xf64> = [16777217]
// DOUBLE-LABEL: @double
// DOUBLE-NEXT: result 0: tensor<1xf64> = [16777217]
func.func @double() -> tensor<1xf64> {
  %x = hone.constant dense<16777216.0> : tensor<1xf64>
  %y = hone.constant dense<1.0> : tensor<1xf64>
  %r = hone.add %x, %y : tensor<1xf64>
  return %r : tensor<1xf64>
}

// A named op rounds once: (1 - mean) * rstd from the exact mean of three thirds.
// SINGLE-LABEL: @named
// SINGLE-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}-0.707106769, -0.707106769, 1.41421354]]
// DOUBLE-LABEL: @named
// DOUBLE-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}-0.707106781, -0.707106781, 1.41421356]]
func.func @named() -> tensor<1x3xf32> {
  %x = hone.constant dense<[[0.0, 0.0, 1.0]]> : tensor<1x3xf32>
  %y, %m, %s = hone.layer_norm %x eps 0.0 : (tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<1xf32>, tensor<1xf32>)
  return %y : tensor<1x3xf32>
}
