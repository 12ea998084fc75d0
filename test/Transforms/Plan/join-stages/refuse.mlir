// RUN: not hone-opt %s --hone-join-stages --split-input-file 2>&1 | FileCheck %s

// CHECK: error: 'fast': expected gpipe, 1f1b
module attributes {dist.schedule = "fast", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: schedule 'interleaved=2' has 2 chunks per rank, expected 1
module attributes {dist.schedule = "interleaved=2", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: schedule 'csv' has 1 ranks (rows), one for each stage, expected 2
module attributes {dist.schedule = "0F0,0B0,0F1,0B1", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: schedule 'csv' has 1 micro-batches, expected 2
module attributes {dist.schedule = "0F0,0B0\0A1F0,1B0", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: csv:2:5: '1X0', expected chunk, kind and micro-batch
module attributes {dist.schedule = "0F0,0B0,0F1,0B1\0A1F0,1X0", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: schedule 'csv': rank 0, position {{.*}}micro-batch order: 
module attributes {dist.schedule = "0F1,0F0,0B0,0B1\0A1F0,1B0,1F1,1B1", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: schedule 'gpipe' runs 1F1 after 1F0, expected 1B0: stage 1 runs its forward and backward part as one function, @accumulate
module attributes {dist.schedule = "gpipe", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @accumulate {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 0 has @accumulate, expected its forward and backward part as two functions
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @accumulate {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 0 has no function @backward_input, which schedule 'zb-h1' runs
module attributes {dist.schedule = "zb-h1", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has no function @update, which a step runs
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has a function @evaluate, unlike stage 0
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
      plan.function @evaluate {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has no argument 'stage1.grad' of kind boundary
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has boundary 'stage1' of type 'tensor<8xf32>', expected 'tensor<16xf32>' as stage 0 has
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<8xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: 'dist.mesh' op has 3 ranks along an axis 'pp', expected 2, one for each stage
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 3>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: 'func.func' op is beside the program of a stage, expected dist.mesh alone
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    func.func private @f()
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: has 2 programs, expected one: run hone-plan-memory on each stage before
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
    plan.program @other arena 0 {
    }
  }
}

// -----

// CHECK: error: stage 1 has a working copy of 'w', which no stage has as a parameter
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 256 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has a working copy of 'w' of type 'tensor<16xbf16>', expected that of the parameter or of a working copy in stage 0
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.argument "w" kind "param" at 256 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 256 : tensor<16xbf16>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has gradients of 'w', unlike stage 0, which does not receive them as 'stage1.w'
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.argument "w" kind "param" at 256 : tensor<16xf32>
      plan.argument "w" kind "grad" at 320 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 256 : tensor<16xf32>
      plan.argument "w" kind "grad" at 320 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has no gradients of 'w', unlike stage 0, which receives them as 'stage1.w'
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.argument "w" kind "param" at 256 : tensor<16xf32>
      plan.argument "stage1.w" kind "grad" at 320 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 256 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 1 has gradients of 'w' of type 'tensor<8xf32>', expected 'tensor<16xf32>' as 'stage1.w' of stage 0
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.argument "w" kind "param" at 256 : tensor<16xf32>
      plan.argument "stage1.w" kind "grad" at 320 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 256 : tensor<16xf32>
      plan.argument "w" kind "grad" at 320 : tensor<8xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: schedule 'gpipe' with the windows of the stages: rank 0, position {{.*}}, 0F1: window: {{.*}}saved
module attributes {dist.schedule = "gpipe", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.argument "x" kind "saved" at 256 : tensor<16xf32>
      plan.function @forward {
        %x = plan.buffer at 256 : memref<16xf32>
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: is stage 1, expected stage 0
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64} {
  module @stage1 attributes {dist.stage = 1 : i64} {
  }
}

// -----

// CHECK: error: has stages and no dist.schedule
module attributes {hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: has a schedule of stages and no dist.stages
module attributes {dist.schedule = "1f1b", hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: has 2 stages, expected 3 as dist.stages says
module attributes {dist.schedule = "1f1b", dist.stages = 3 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 1 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 0 has @accumulate.0, expected its forward and backward part as two functions: only the last chunk needs nothing of another between them
module attributes {dist.chunks = 4 : i64, dist.schedule = "zb-v", dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.function @accumulate.0 {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.function @update {
      }
    }
  }
}

// -----

// CHECK: error: stage 0 has a function @evaluate for some of its chunks, expected one for each, or none
module attributes {dist.chunks = 4 : i64, dist.schedule = "zb-v", dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.argument "chunk1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "chunk1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "chunk3" kind "boundary" at 128 : tensor<16xf32>
      plan.argument "chunk3.grad" kind "boundary" at 192 : tensor<16xf32>
      plan.function @evaluate.0 {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 {
      plan.function @update {
      }
    }
  }
}
