// RUN: hone-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" -o /dev/null

module {
  // expected-error @below {{is no stage, expected dist.stage and dist.turns as dist-split-stages writes them}}
  module @stage0 attributes {dist.stage = 0 : i64} {
  }
}

// -----

// A window that no pass writes.
module {
  // expected-error @below {{is no stage, expected dist.stage and dist.turns as dist-split-stages writes them}}
  module @stage0 attributes {dist.stage = 0 : i64, dist.turns = {functions = ["forward", "backward"], kept = 2 : i64}} {
  }
}

// -----

module {
  // expected-error @below {{has no function @accumulate}}
  module @stage0 attributes {dist.stage = 0 : i64, dist.turns = {functions = ["forward", "backward"], saved = 2 : i64}} {
  }
}

// -----

module {
  // expected-error @below {{has attribute dist.window = 0 : i64, expected an integer from 1}}
  func.func @forward(%h: tensor<8xf32> {dist.window = 0 : i64, hone.fqn = "stage1", hone.kind = "boundary"}) {
    return
  }
}
