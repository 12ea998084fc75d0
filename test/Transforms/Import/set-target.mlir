// RUN: hone-opt %s --hone-set-target="target=cuda arch=sm_90" | FileCheck %s --check-prefix=CUDA
// RUN: hone-opt %s --hone-set-target | FileCheck %s --check-prefix=CPU
// RUN: not hone-opt %s --hone-set-target="target=tpu" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CUDA: module attributes {hone.target = "cuda sm_90"}
// CPU: module attributes {hone.target = "cpu"}
// UNKNOWN: error: hone.target is 'tpu', expected 'cpu' or 'cuda'
module {}
