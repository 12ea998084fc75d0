// RUN: hone-opt %s --hone-bind-kernels --split-input-file --verify-diagnostics | FileCheck %s

// An entry loads the address of each buffer from its table.

// CHECK: llvm.func internal @kernel(
// CHECK: llvm.func internal @entry(%[[TABLE:.*]]: !llvm.ptr, %[[LO:.*]]: i64, %[[HI:.*]]: i64)
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[TABLE]][0]
// CHECK: %[[A:.*]] = llvm.load %[[SLOT]]
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[TABLE]][1]
// CHECK: %[[B:.*]] = llvm.load %[[SLOT]]
// CHECK: llvm.call @kernel(%[[A]], %[[B]], %[[LO]], %[[HI]])
llvm.func @kernel(%a: !llvm.ptr, %b: !llvm.ptr, %lo: i64, %hi: i64) {
  llvm.return
}
llvm.func @entry(!llvm.ptr, i64, i64) attributes {hone.kernel = @kernel}

// -----

// expected-error@+1 {{binds @missing, which is no function}}
llvm.func @entry(!llvm.ptr, i64, i64) attributes {hone.kernel = @missing}
