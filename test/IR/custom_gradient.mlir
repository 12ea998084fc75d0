// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8xf32>, %m: tensor<8xi1>) {
  // CHECK: hone.custom_gradient values(%{{.+}} : tensor<8xf32>) inputs(%{{.+}} : tensor<8xf32>) {
  // CHECK-NEXT: ^bb0(%[[G:.+]]: tensor<8xf32>):
  %y = hone.custom_gradient values(%x : tensor<8xf32>) inputs(%x : tensor<8xf32>) {
  ^bb0(%g: tensor<8xf32>):
    %zero = hone.constant dense<0.0> : tensor<8xf32>
    %r = hone.max %g, %zero : tensor<8xf32>
    // CHECK: hone.yield %{{.+}} : tensor<8xf32>
    hone.yield %r : tensor<8xf32>
  }
  // CHECK: hone.custom_gradient values(%{{.+}}, %{{.+}} : tensor<8xf32>, tensor<8xi1>)
  // CHECK-SAME: inputs(%{{.+}} : tensor<8xf32>) saved(%{{.+}} : tensor<8xi1>)
  %z:2 = hone.custom_gradient values(%x, %m : tensor<8xf32>, tensor<8xi1>) inputs(%x : tensor<8xf32>)
      saved(%m : tensor<8xi1>) {
  ^bb0(%g: tensor<8xf32>, %saved: tensor<8xi1>):
    %zero = hone.constant dense<0.0> : tensor<8xf32>
    %r = hone.select %saved, %g, %zero : tensor<8xi1>, tensor<8xf32>
    hone.yield %r : tensor<8xf32>
  }
  return
}
