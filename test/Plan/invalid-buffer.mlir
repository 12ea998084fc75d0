// RUN: hone-opt %s --verify-diagnostics --split-input-file

plan.program @buffer_c1 arena 64 {
  plan.function @step {
    // expected-error@+1 {{'plan.buffer' op covers 36 bytes from 32 on, expected inside [0, 64)}}
    %w = plan.buffer at 32 : memref<9xf32>
  }
}

// -----

plan.program @buffer_c1_negative arena 64 {
  plan.function @step {
    // expected-error@+1 {{'plan.buffer' op covers 8 bytes from -4 on, expected inside [0, 64)}}
    %w = plan.buffer at -4 : memref<2xf32>
  }
}

// -----

plan.program @buffer_c1_strided arena 64 {
  plan.function @step {
    // expected-error@+1 {{'plan.buffer' op covers 72 bytes from 0 on, expected inside [0, 64)}}
    %w = plan.buffer at 0 : memref<3x2xf32, strided<[8, 1]>>
  }
}

// -----

plan.program @buffer_c1_dynamic arena 64 {
  plan.function @step {
    // expected-error@+1 {{'plan.buffer' op has type 'memref<3x2xf32, strided<[?, 1]>>', expected static strides}}
    %w = plan.buffer at 0 : memref<3x2xf32, strided<[?, 1]>>
  }
}

// -----

func.func @buffer_parent() {
  // expected-error@+1 {{'plan.buffer' op expects parent op 'plan.function'}}
  %w = plan.buffer at 0 : memref<2xf32>
  return
}
