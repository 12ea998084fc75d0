// RUN: hone-opt %s --verify-diagnostics --split-input-file

plan.program @view_c1 arena 64 {
  plan.function @step {
    %w = plan.buffer at 32 : memref<8xf32>
    // expected-error@+1 {{'plan.view' op covers 20 bytes from 48 on, expected inside [0, 64)}}
    %v = plan.view %w at 16 : memref<8xf32> to memref<5xf32>
  }
}

// -----

plan.program @view_c1_dynamic arena 64 {
  plan.function @step {
    %w = plan.buffer at 0 : memref<8xf32>
    // expected-error@+1 {{'plan.view' op has type 'memref<2xf32, strided<[1], offset: ?>>', expected static strides}}
    %v = plan.view %w at 0 : memref<8xf32> to memref<2xf32, strided<[1], offset: ?>>
  }
}
