// RUN: not hone-opt %s --hone-plan-memory 2>&1 | FileCheck %s

// CHECK: error: 'hone.reshape' op cannot be a view of its strided operand
func.func @evaluate(%x: tensor<2x16x96xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<1024xf32> {hone.kind = "loss"}) {
  %s = hone.slice %x [0, 0, 0] to [2, 16, 32] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %r = hone.reshape %s : tensor<2x16x32xf32> -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
