// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @rounded
func.func @rounded(%c: tensor<3x10xi8>, %s: tensor<3x3xf32>) -> tensor<3x20xbf16> {
  // CHECK-NEXT: %[[W:.+]] = hone.dequantize nf4 %{{.+}} scales %{{.+}} block 7 : {{.*}} -> tensor<3x20xbf16>
  // CHECK-NEXT: return %[[W]]
  %0 = hone.dequantize nf4 %c scales %s block 7 : tensor<3x10xi8>, tensor<3x3xf32> -> tensor<3x20xf32>
  %1 = hone.cast %0 : tensor<3x20xf32> -> tensor<3x20xbf16>
  return %1 : tensor<3x20xbf16>
}

// Something reads the unrounded values.
// CHECK-LABEL: @read_twice
func.func @read_twice(%c: tensor<3x20xi8>, %s: tensor<3x1xf32>) -> (tensor<3x20xbf16>, tensor<3x20xf32>) {
  // CHECK: hone.cast
  %0 = hone.dequantize int8 %c scales %s block 20 : tensor<3x20xi8>, tensor<3x1xf32> -> tensor<3x20xf32>
  %1 = hone.cast %0 : tensor<3x20xf32> -> tensor<3x20xbf16>
  return %1, %0 : tensor<3x20xbf16>, tensor<3x20xf32>
}
