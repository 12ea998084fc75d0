// RUN: hone-opt %s --verify-diagnostics --split-input-file

plan.program @actions_c1 arena 64 stage 0 {
  // expected-error@+1 {{'plan.actions' op is list 'accumulate', expected 'step' or 'evaluate'}}
  plan.actions "accumulate" {
  }
}

// -----

plan.program @actions_c2 arena 64 {
  // expected-error@+1 {{'plan.actions' op is in a program without stage, expected 'stage N'}}
  plan.actions "step" {
  }
}

// -----

plan.program @actions_c2_twice arena 64 stage 0 {
  // expected-error@+1 {{'plan.actions' op is list 'step', which the program has twice}}
  plan.actions "step" {
  }
  plan.actions "step" {
  }
}

// -----

plan.program @run_c1 arena 64 stage 0 {
  plan.actions "step" {
    // expected-error@+1 {{'plan.run' op is of @forward, which is no function of the program}}
    plan.run @forward micro 0
  }
}

// -----

plan.program @run_c2 arena 64 stage 0 {
  plan.function @forward {
  }
  plan.actions "step" {
    // expected-error@+1 {{'plan.run' op is for micro-batch -1, expected a number from 0}}
    plan.run @forward micro -1
  }
}

// -----

plan.program @run_c2_beside arena 64 stage 0 {
  plan.function @overlap {
  }
  plan.actions "step" {
    // expected-error@+1 {{'plan.run' op is beside micro-batch -1, expected a number from 0}}
    plan.run @overlap micro 1 beside -1
  }
}

// -----

plan.program @run_c3 arena 64 stage 0 {
  plan.function @overlap {
  }
  plan.actions "evaluate" {
    // expected-error@+1 {{'plan.run' op is beside another micro-batch in list 'evaluate', expected list 'step'}}
    plan.run @overlap micro 1 beside 0
  }
}

// -----

plan.program @transfer_c1 arena 64 stage 0 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
  plan.actions "step" {
    // expected-error@+1 {{'plan.transfer' op is of grad 'w', which is no argument of the program}}
    plan.transfer send "grad" "w" micro 0 peer 1
  }
}

// -----

plan.program @transfer_c2 arena 64 stage 0 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
  plan.actions "step" {
    // expected-error@+1 {{'plan.transfer' op is for micro-batch -2, expected a number from 0}}
    plan.transfer send "param" "w" micro -2 peer 1
  }
}

// -----

plan.program @transfer_c3 arena 64 stage 1 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
  plan.actions "step" {
    // expected-error@+1 {{'plan.transfer' op has peer 1, expected another stage than 1}}
    plan.transfer send "param" "w" micro 0 peer 1
  }
}

// -----

plan.program @transfer_c3_negative arena 64 stage 1 {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
  plan.actions "step" {
    // expected-error@+1 {{'plan.transfer' op has peer -1, expected another stage than 1}}
    plan.transfer send "param" "w" micro 0 peer -1
  }
}
