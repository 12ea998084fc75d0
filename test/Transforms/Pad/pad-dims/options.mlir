// RUN: not hone-opt %s --hone-pad-dims="multiple=some" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not hone-opt %s --hone-pad-dims="multiple=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not hone-opt %s --hone-pad-dims="precision=fp9" 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not hone-opt %s --hone-pad-dims 2>&1 | FileCheck %s --check-prefix=FORWARD
// MULTIPLE: multiple of padding is 'some', expected auto, off or a positive number
// ZERO: multiple of padding is '0', expected auto, off or a positive number
// PRECISION: precision is 'fp9', expected fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8
// FORWARD: has no function @forward of one block
module {}
