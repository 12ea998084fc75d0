// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-split-turns -o /dev/null

// expected-error @below {{has stages but no dist.schedule}}
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
  }
}

// -----

// expected-error @below {{dist.schedule: "interleaved=2" has 2 chunks per rank, expected one, a stage}}
module attributes {dist.schedule = "interleaved=2", dist.stages = 2 : i64, hone.micro_batches = 4 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
  }
}

// -----

// expected-error @below {{dist.schedule: the lists are of 2 ranks, 2 chunks and 1 micro-batches, expected 2 ranks with one chunk each, and 4 micro-batches}}
module attributes {dist.schedule = "0F0,0B0\0A1F0,1B0\0A", dist.stages = 2 : i64, hone.micro_batches = 4 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
  }
}

// -----

// Found by the checker of lists.
// expected-error @below {{dist.schedule: rank 0, position 1, 0B0: data order: expected 0F0 before it, found it at position 2}}
module attributes {dist.schedule = "0B0,0F0\0A1F0,1B0\0A", dist.stages = 2 : i64, hone.micro_batches = 1 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
  }
}

// -----

module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 4 : i64} {
  // expected-error @below {{is no stage of the module, expected dist.stage below 2 and a function @accumulate}}
  module @stage0 attributes {dist.stage = 0 : i64} {
  }
}

// -----

module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 4 : i64} {
  // expected-error @below {{has attribute dist.window = 0 : i64, expected an integer from 1}}
  func.func @forward(%h: tensor<8xf32> {dist.window = 0 : i64, hone.fqn = "stage1", hone.kind = "boundary"}) {
    return
  }
}
