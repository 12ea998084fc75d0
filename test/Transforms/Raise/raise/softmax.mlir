// RUN: hone-opt %s --hone-raise --split-input-file | FileCheck %s
// RUN: hone-opt %s --hone-raise --split-input-file | FileCheck %s --check-prefix=NOT

// exp(x - m) / sum(exp(x - m)), as JAX writes softmax out.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK-NEXT: %[[S:.+]] = hone.softmax %[[X]]
// CHECK-NEXT: return %[[S]]

module {
  func.func @forward(%x: tensor<8x61xf32>) -> tensor<8x61xf32> {
    %mx = hone.reduce max %x dims [1] : tensor<8x61xf32> -> tensor<8xf32>
    %column = hone.reshape %mx : tensor<8xf32> -> tensor<8x1xf32>
    %st = hone.stop_gradient %column : tensor<8x1xf32>
    %row = hone.reshape %st : tensor<8x1xf32> -> tensor<8xf32>
    %mb = hone.broadcast %row dims [0] : tensor<8xf32> -> tensor<8x61xf32>
    %d = hone.sub %x, %mb : tensor<8x61xf32>
    %ex = hone.exp %d : tensor<8x61xf32>
    %sum = hone.reduce sum %ex dims [1] : tensor<8x61xf32> -> tensor<8xf32>
    %sb = hone.broadcast %sum dims [0] : tensor<8xf32> -> tensor<8x61xf32>
    %p = hone.div %ex, %sb : tensor<8x61xf32>
    return %p : tensor<8x61xf32>
  }
}

// -----

// Over columns it is none.

// NOT-LABEL: func.func @forward(%{{.+}}: tensor<61x8xf32>
// NOT-NOT: hone.softmax
module {
  func.func @forward(%x: tensor<61x8xf32>) -> tensor<61x8xf32> {
    %mx = hone.reduce max %x dims [0] : tensor<61x8xf32> -> tensor<8xf32>
    %mb = hone.broadcast %mx dims [1] : tensor<8xf32> -> tensor<61x8xf32>
    %d = hone.sub %x, %mb : tensor<61x8xf32>
    %ex = hone.exp %d : tensor<61x8xf32>
    %sum = hone.reduce sum %ex dims [0] : tensor<61x8xf32> -> tensor<8xf32>
    %sb = hone.broadcast %sum dims [1] : tensor<8xf32> -> tensor<61x8xf32>
    %p = hone.div %ex, %sb : tensor<61x8xf32>
    return %p : tensor<61x8xf32>
  }
}
