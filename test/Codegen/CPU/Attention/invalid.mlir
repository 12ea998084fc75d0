// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-lower-to-kernels

plan.program @half arena 65536 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xf64>
    %y = plan.buffer at 4096 : memref<1x16x1x16xf64>
    plan.launch attention ins(%x : memref<1x16x1x16xf64>) outs(%y : memref<1x16x1x16xf64>) {
    ^bb0(%a: tensor<1x16x1x16xf64>):
      // expected-error @below {{'hone.attention' op has element type 'f64', CPU kernels of attention take f32, bf16 and f16}}
      %r, %l = hone.attention %a, %a, %a scale 0.25
          : (tensor<1x16x1x16xf64>, tensor<1x16x1x16xf64>, tensor<1x16x1x16xf64>)
          -> (tensor<1x16x1x16xf64>, tensor<1x1x16xf64>)
      plan.yield %r : tensor<1x16x1x16xf64>
    }
  }
}

// -----

plan.program @columns arena 65536 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xf32, strided<[256, 1, 1, 16]>>
    %y = plan.buffer at 4096 : memref<1x16x1x16xf32>
    plan.launch attention ins(%x : memref<1x16x1x16xf32, strided<[256, 1, 1, 16]>>) outs(%y : memref<1x16x1x16xf32>) {
    ^bb0(%a: tensor<1x16x1x16xf32>):
      // expected-error @below {{'hone.attention' op uses 'memref<1x16x1x16xf32, strided<[256, 1, 1, 16]>>', expected an innermost stride of 1}}
      %r, %l = hone.attention %a, %a, %a scale 0.25
          : (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>)
          -> (tensor<1x16x1x16xf32>, tensor<1x1x16xf32>)
      plan.yield %r : tensor<1x16x1x16xf32>
    }
  }
}

// -----

plan.program @wide arena 1048576 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x8x1x8192xf32>
    %y = plan.buffer at 524288 : memref<1x8x1x8192xf32>
    plan.launch attention ins(%x : memref<1x8x1x8192xf32>) outs(%y : memref<1x8x1x8192xf32>) {
    ^bb0(%a: tensor<1x8x1x8192xf32>):
      // expected-error @below {{'hone.attention' op has heads of width 8192 and 8192, which need more than 524288 bytes of stack}}
      %r, %l = hone.attention %a, %a, %a scale 0.25
          : (tensor<1x8x1x8192xf32>, tensor<1x8x1x8192xf32>, tensor<1x8x1x8192xf32>)
          -> (tensor<1x8x1x8192xf32>, tensor<1x1x8xf32>)
      plan.yield %r : tensor<1x8x1x8192xf32>
    }
  }
}

// -----

plan.program @accompanied arena 65536 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xf32>
    %y = plan.buffer at 4096 : memref<1x16x1x16xf32>
    plan.launch attention ins(%x : memref<1x16x1x16xf32>) outs(%y : memref<1x16x1x16xf32>) {
    ^bb0(%a: tensor<1x16x1x16xf32>):
      // expected-error @below {{'hone.attention' op is not alone in its launch, expected one hone.attention, hone.decode_attention or hone.attention_bwd}}
      %r, %l = hone.attention %a, %a, %a scale 0.25
          : (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>)
          -> (tensor<1x16x1x16xf32>, tensor<1x1x16xf32>)
      %n = hone.neg %r : tensor<1x16x1x16xf32>
      plan.yield %n : tensor<1x16x1x16xf32>
    }
  }
}

// -----

plan.program @twice arena 65536 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xf32>
    %y = plan.buffer at 4096 : memref<1x16x1x16xf32>
    %z = plan.buffer at 8192 : memref<1x16x1x16xf32>
    plan.launch attention ins(%x : memref<1x16x1x16xf32>)
        outs(%y, %z : memref<1x16x1x16xf32>, memref<1x16x1x16xf32>) {
    ^bb0(%a: tensor<1x16x1x16xf32>):
      // expected-error @below {{'hone.attention' op does not produce each output of its launch exactly once}}
      %r, %l = hone.attention %a, %a, %a scale 0.25
          : (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>)
          -> (tensor<1x16x1x16xf32>, tensor<1x1x16xf32>)
      plan.yield %r, %r : tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>
    }
  }
}

// -----

plan.program @sums arena 65536 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xbf16>
    %l = plan.buffer at 4096 : memref<1x1x16xf32>
    %y = plan.buffer at 8192 : memref<1x16x1x16xbf16>
    plan.launch attention ins(%x, %l : memref<1x16x1x16xbf16>, memref<1x1x16xf32>) outs(%y : memref<1x16x1x16xbf16>) {
    ^bb0(%a: tensor<1x16x1x16xbf16>, %e: tensor<1x1x16xf32>):
      // expected-error @below {{'hone.attention_bwd' op has other scratch than its sums of narrow gradients}}
      %q, %k, %v = hone.attention_bwd %a, %a, %a, %a, %a, %e scale 0.25
          : (tensor<1x16x1x16xbf16>, tensor<1x16x1x16xbf16>, tensor<1x16x1x16xbf16>, tensor<1x16x1x16xbf16>,
             tensor<1x16x1x16xbf16>, tensor<1x1x16xf32>)
          -> (tensor<1x16x1x16xbf16>, tensor<1x16x1x16xbf16>, tensor<1x16x1x16xbf16>)
      plan.yield %q : tensor<1x16x1x16xbf16>
    }
  }
}
