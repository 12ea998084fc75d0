// RUN: hone-opt %s --verify-diagnostics --split-input-file

plan.program @argument_c1 arena 4096 {
  // expected-error@+1 {{'plan.argument' op offset is 32, expected a multiple of 64}}
  plan.argument "w" kind "param" at 32 : tensor<8xf32>
}

// -----

plan.program @argument_c1_outside arena 64 {
  // expected-error@+1 {{'plan.argument' op covers 68 bytes from 0 on, expected inside [0, 64)}}
  plan.argument "w" kind "param" at 0 : tensor<17xf32>
}

// -----

plan.program @argument_c1_far arena 64 {
  // expected-error@+1 {{'plan.argument' op covers 64 bytes from 9223372036854775744 on, expected inside [0, 64)}}
  plan.argument "w" kind "param" at 9223372036854775744 : tensor<16xf32>
}

// -----

plan.program @argument_type arena 64 {
  // expected-error@+1 {{'plan.argument' op has type 'tensor<?xf32>', expected a tensor of static shape}}
  plan.argument "w" kind "param" at 0 : tensor<?xf32>
}

// -----

plan.program @argument_c1_window arena 128 {
  // expected-error@+1 {{'plan.argument' op covers 160 bytes from 0 on, expected inside [0, 128)}}
  plan.argument "h" kind "saved" at 0 window 3 : tensor<8xf32>
}

// -----

plan.program @argument_c2 arena 64 {
  // expected-error@+1 {{'plan.argument' op has a window of 0 instances, expected at least 1}}
  plan.argument "h" kind "saved" at 0 window 0 : tensor<8xf32>
}

// -----

plan.program @argument_c1_host arena 64 host 64 {
  // expected-error@+1 {{'plan.argument' op covers 128 bytes from 0 on, expected inside [0, 64) of the second arena}}
  plan.argument "m" kind "opt" host at 0 : tensor<32xf32>
}

// -----

plan.program @argument_c2_host arena 64 host 256 {
  // expected-error@+1 {{'plan.argument' op has a window of 2 instances in the second arena, expected 1}}
  plan.argument "h" kind "saved" host at 0 window 2 : tensor<8xf32>
}
