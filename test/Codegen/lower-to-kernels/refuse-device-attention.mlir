// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-lower-to-kernels

module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %q = plan.buffer at 0 : memref<2x24x4x16xbf16>
      %o = plan.buffer at 16384 : memref<2x24x4x16xbf16>
      // expected-error@below {{is attention, for which there is no device code: expected hone-plan-attention or hone-decompose-attention before}}
      plan.launch attention ins(%q : memref<2x24x4x16xbf16>) outs(%o : memref<2x24x4x16xbf16>) {
      ^bb0(%a: tensor<2x24x4x16xbf16>):
        %r, %s = hone.attention %a, %a, %a scale 0.25
            : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r : tensor<2x24x4x16xbf16>
      }
    }
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %q = plan.buffer at 0 : memref<2x24x4x16xbf16, strided<[1536, 64, 1, 4]>>
      %o = plan.buffer at 16384 : memref<2x24x4x16xbf16>
      %l = plan.buffer at 32768 : memref<2x4x24xf32>
      plan.launch attention ins(%q : memref<2x24x4x16xbf16, strided<[1536, 64, 1, 4]>>)
          outs(%o, %l : memref<2x24x4x16xbf16>, memref<2x4x24xf32>) {
      ^bb0(%a: tensor<2x24x4x16xbf16>):
        // expected-error@below {{uses 'memref<2x24x4x16xbf16, strided<[1536, 64, 1, 4]>>', expected an innermost stride of 1}}
        %r, %s = hone.attention %a, %a, %a scale 0.25 {hone.workspace = 0 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r, %s : tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>
      }
    }
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %q = plan.buffer at 0 : memref<2x24x4x16xbf16>
      %o = plan.buffer at 16384 : memref<2x24x4x16xbf16>
      %l = plan.buffer at 32768 : memref<2x4x24xf32>
      plan.launch attention ins(%q : memref<2x24x4x16xbf16>) outs(%o, %l : memref<2x24x4x16xbf16>, memref<2x4x24xf32>) {
      ^bb0(%a: tensor<2x24x4x16xbf16>):
        // expected-error@below {{has other scratch than its workspace and results that nothing reads}}
        %r, %s = hone.attention %a, %a, %a scale 0.25 {hone.workspace = 512 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r, %s : tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>
      }
    }
  }
}

// -----

// A call knows of one position per sequence.
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %first = plan.buffer at 0 : memref<2xi64>
      %q = plan.buffer at 64 : memref<2x24x4x16xbf16>
      %o = plan.buffer at 16384 : memref<2x24x4x16xbf16>
      %l = plan.buffer at 32768 : memref<2x4x24xf32>
      plan.launch attention ins(%first, %q : memref<2xi64>, memref<2x24x4x16xbf16>)
          outs(%o, %l : memref<2x24x4x16xbf16>, memref<2x4x24xf32>) {
      ^bb0(%f: tensor<2xi64>, %a: tensor<2x24x4x16xbf16>):
        // expected-error@below {{has queries that begin at several positions, expected a call for each}}
        %r, %s = hone.attention %a, %a, %a mask %f causal scale 0.25 {hone.workspace = 0 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2xi64>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r, %s : tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>
      }
    }
  }
}
