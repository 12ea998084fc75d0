// RUN: hone-opt %S/fs.mlir --hone-overlap-collectives="always report" -o /dev/null 2>&1 | count 0
// RUN: hone-opt %S/fs.mlir --hone-overlap-collectives="always report max-steps=0" -o %t.none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not grep async %t.none.mlir
// RUN: hone-opt %S/fs.mlir --hone-overlap-collectives="always report max-steps=20" -o %t.some.mlir 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: FileCheck %s --check-prefix=MOVED --input-file=%t.some.mlir
// RUN: hone-opt %S/fs.mlir --hone-overlap-collectives="always report max-steps=20 budget=1000000000" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: hone-opt %S/fs.mlir --hone-overlap-collectives="always report max-steps=20 budget=1" -o /dev/null 2>&1 | count 0
// RUN: not hone-opt %S/fs.mlir --hone-overlap-collectives="always max-steps=-1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BELOW --implicit-check-not=error
// RUN: hone-opt %t.some.mlir --hone-plan-memory --hone-verify-plan --hone-lower-to-kernels --hone-verify-lower -o /dev/null

// Steps are counted; when they are used up, what is left stays where it stands, and the report says how much, where
// a budget does not refuse the moves altogether.
// BELOW: error: max-steps: expected 0 or more, got -1
// NONE: remark: search stopped at its bound: @step: after 0 steps (max-steps of hone-overlap-collectives) 3 of 3 collectives stay where they stand, or are moved less far
// SOME: remark: search stopped at its bound: @step: after 20 steps {{.*}} [[LEFT:[12]]] of 3 collectives
// MOVED: dist.all_gather %{{.*}} async
// MOVED-NOT: reduce_scatter {{.*}} async
