// RUN: hone-opt %s --verify-diagnostics --split-input-file

plan.program @launch_c1 arena 64 {
  plan.function @step {
    %w = plan.buffer at 0 : memref<8xf32>
    // expected-error@+1 {{'plan.launch' op reads 'memref<8xf32>' as 'tensor<2x4xf32>'}}
    plan.launch map ins(%w : memref<8xf32>) outs(%w : memref<8xf32>) {
    ^bb0(%a: tensor<2x4xf32>):
      %c = hone.reshape %a : tensor<2x4xf32> -> tensor<8xf32>
      plan.yield %c : tensor<8xf32>
    }
  }
}

// -----

plan.program @launch_c1_result arena 64 {
  plan.function @step {
    %w = plan.buffer at 0 : memref<8xf32>
    // expected-error@+1 {{'plan.launch' op writes 'tensor<8xbf16>' to 'memref<8xf32>'}}
    plan.launch map ins(%w : memref<8xf32>) outs(%w : memref<8xf32>) {
    ^bb0(%a: tensor<8xf32>):
      %c = hone.cast %a : tensor<8xf32> -> tensor<8xbf16>
      plan.yield %c : tensor<8xbf16>
    }
  }
}

// -----

plan.program @launch_c1_count arena 64 {
  plan.function @step {
    %w = plan.buffer at 0 : memref<8xf32>
    // expected-error@+1 {{'plan.launch' op has 1 inputs and 1 outputs, expected as many block arguments and yielded values}}
    plan.launch map ins(%w : memref<8xf32>) outs(%w : memref<8xf32>) {
    ^bb0(%a: tensor<8xf32>):
      plan.yield
    }
  }
}
