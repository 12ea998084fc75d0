// RUN: hone-opt %s --hone-verify-plan --split-input-file --verify-diagnostics

plan.program @stage0 arena 64 stage 0 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
}
plan.program @stage1 arena 0 stage 1 {
}

// -----

plan.program @stage0 arena 0 stage 0 {
}
// expected-error@+1 {{is the program of stage 2, expected stage 1}}
plan.program @stage2 arena 0 stage 2 {
}

// -----

plan.program @stage0 arena 0 stage 0 {
}
// expected-error@+1 {{is the program of no stage, expected stage 1}}
plan.program @other arena 0 {
}

// -----

// Each program is checked.
plan.program @stage0 arena 0 stage 0 {
}
// expected-error@+1 {{has an arena of 128 bytes, expected 64 as its buffers use}}
plan.program @stage1 arena 128 stage 1 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
}

// -----

// expected-error@below {{is left after the plan: run hone-join-stages before}}
module {
  plan.program @program arena 0 {
  }
}
plan.program @program arena 0 {
}
