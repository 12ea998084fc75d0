// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// CHECK: error: has stages of a pipeline, which run on CPUs only, expected a mesh without axis 'pp' for target cuda
module attributes {hone.target = "cuda sm_80"} {
  plan.program @stage0 arena 0 stage 0 {
  }
  plan.program @stage1 arena 0 stage 1 {
  }
}
