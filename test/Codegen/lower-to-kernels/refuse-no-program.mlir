// RUN: not hone-opt %s --hone-lower-to-kernels --split-input-file 2>&1 | FileCheck %s

// CHECK: error: has no plan.program, or several that are no stages: run hone-plan-memory before
module {}

// -----

// CHECK: error: has no plan.program, or several that are no stages: run hone-plan-memory before
plan.program @p arena 64 {}
plan.program @q arena 64 {}
