// RUN: hone-opt %s --hone-bind-kernels | FileCheck %s

// An entry of a kernel that serves two tensors, of 20 and 5 elements, by chunks of 16: items 0 and 1 belong to the
// first, item 2 to the second.

// CHECK-DAG: constant @entry_first(dense<[0, 2, 3]> : tensor<3xi64>)
// CHECK-DAG: constant @entry_buffers(dense<[0, 3, 1, 2]> : tensor<4xi32>)
// CHECK-DAG: constant @entry_tags(dense<[7, 9]> : tensor<2xi64>)
// CHECK-DAG: constant @entry_sizes(dense<[20, 5]> : tensor<2xi64>)
// CHECK: llvm.func internal @entry(%[[TABLE:.*]]: !llvm.ptr, %[[LO:.*]]: i64, %[[HI:.*]]: i64)
// CHECK: %[[SIZES:.*]] = llvm.mlir.addressof @entry_sizes
// CHECK: llvm.br ^[[LOOP:.*]](%{{.*}} : i64)
// CHECK: ^[[LOOP]](%[[TENSOR:.*]]: i64):
// CHECK: llvm.cond_br
// CHECK: %[[FIRST:.*]] = llvm.load
// CHECK: %[[BEGIN:.*]] = llvm.intr.smax(%[[LO]], %[[FIRST]])
// CHECK: %[[END:.*]] = llvm.intr.smin(%[[HI]],
// CHECK: llvm.cond_br
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[SIZES]][%[[TENSOR]]]
// CHECK-NEXT: %[[SIZE:.*]] = llvm.load %[[SLOT]]
// CHECK-NEXT: %[[SKIPPED:.*]] = llvm.sub %[[BEGIN]], %[[FIRST]]
// CHECK-NEXT: %[[FROM:.*]] = llvm.mul %[[SKIPPED]], %{{.*}}
// CHECK: llvm.sub %[[END]], %[[FIRST]]
// CHECK: %[[TO:.*]] = llvm.intr.smin(%{{.*}}, %[[SIZE]])
// CHECK: llvm.call @kernel(%{{.*}}, %{{.*}}, %{{.*}}, %[[FROM]], %[[TO]])
// CHECK: llvm.return
llvm.func @kernel(%a: !llvm.ptr, %b: !llvm.ptr, %tag: i64, %lo: i64, %hi: i64) {
  llvm.return
}
llvm.func @entry(!llvm.ptr, i64, i64) attributes {
  hone.kernel = @kernel,
  hone.tensors = {buffers = array<i32: 0, 3, 1, 2>, chunk = 16 : i64, sizes = array<i64: 20, 5>,
                  tags = array<i64: 7, 9>}}
