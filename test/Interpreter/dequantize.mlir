// RUN: hone-run --eval %s | FileCheck %s

// All codes, in blocks of 16: the values of the paper's table (appendix E), and twice these.
// CHECK-LABEL: @nf4
// CHECK-NEXT: result 0: tensor<2x16xf32> = {{\[\[}}-1, -0.696192801, -0.525073051, -0.394917488, -0.284441382,
// CHECK-SAME: {{^}} -0.18477343, -0.0910500363, 0, 0.0795802996, 0.160930201, 0.246112302, 0.337915242, 0.440709829,
// CHECK-SAME: {{^}} 0.562617004, 0.722956836, 1], [-2, -1.3923856, -1.0501461, -0.789834976, -0.568882763,
// CHECK-SAME: {{^}} -0.36954686, -0.182100073, 0, 0.159160599, 0.321860403, 0.492224604, 0.675830483, 0.881419659,
// CHECK-SAME: {{^}} 1.12523401, 1.44591367, 2]]
func.func @nf4() -> tensor<2x16xf32> {
  %c = hone.constant dense<[[1, 35, 69, 103, -119, -85, -51, -17],
                            [1, 35, 69, 103, -119, -85, -51, -17]]> : tensor<2x8xi8>
  %s = hone.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %w = hone.dequantize nf4 %c scales %s block 16 : tensor<2x8xi8>, tensor<2x1xf32> -> tensor<2x16xf32>
  return %w : tensor<2x16xf32>
}

// The last block, and the last byte, are not full.
// CHECK-LABEL: @odd
// CHECK-NEXT: result 0: tensor<1x5xf32> = {{\[\[}}-2, -1.3923856, 2, 2, 0]]
func.func @odd() -> tensor<1x5xf32> {
  %c = hone.constant dense<[[1, -1, 127]]> : tensor<1x3xi8>
  %s = hone.constant dense<[[2.0, 0.5]]> : tensor<1x2xf32>
  %w = hone.dequantize nf4 %c scales %s block 4 : tensor<1x3xi8>, tensor<1x2xf32> -> tensor<1x5xf32>
  return %w : tensor<1x5xf32>
}

// CHECK-LABEL: @int8
// CHECK-NEXT: result 0: tensor<2x3xbf16> = {{\[\[}}254, -254, 2], [0, -0.5, 32]]
func.func @int8() -> tensor<2x3xbf16> {
  %c = hone.constant dense<[[127, -127, 1], [0, -1, 64]]> : tensor<2x3xi8>
  %s = hone.constant dense<[[2.0], [0.5]]> : tensor<2x1xf32>
  %w = hone.dequantize int8 %c scales %s block 3 : tensor<2x3xi8>, tensor<2x1xf32> -> tensor<2x3xbf16>
  return %w : tensor<2x3xbf16>
}
