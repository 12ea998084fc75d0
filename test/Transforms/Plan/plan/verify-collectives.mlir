// RUN: hone-opt %s --hone-verify-plan --split-input-file --verify-diagnostics
// Between its begin and its wait, a collective owns what it reads and writes; the wait finds its result where it is.

dist.mesh @mesh [<"fs" = 2>]
plan.program @fine arena 512 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 256 : memref<64xf32>
    plan.launch collective ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.all_reduce sum %x over ["fs"] async : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch collective ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.wait %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.result "loss", %b : memref<64xf32>
  }
}

// -----

dist.mesh @mesh [<"fs" = 2>]
plan.program @read_before_wait arena 768 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 512 : memref<64xf32>
    // expected-note@+1 {{this collective}}
    plan.launch collective ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.all_reduce sum %x over ["fs"] async : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    // expected-error@+1 {{reads what a collective that has begun exchanges, expected a wait before}}
    plan.launch map ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
  }
}

// -----

dist.mesh @mesh [<"fs" = 2>]
plan.program @wait_elsewhere arena 768 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 512 : memref<64xf32>
    plan.launch collective ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.all_reduce sum %x over ["fs"] async : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    // expected-error@+1 {{waits into other bytes than the collective writes, expected 256 to 512}}
    plan.launch collective ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.wait %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
  }
}

// -----

dist.mesh @mesh [<"fs" = 2>]
plan.program @never_waited_for arena 512 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    // expected-error@+1 {{has begun and is under way where the function ends, expected a wait}}
    plan.launch collective ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.all_reduce sum %x over ["fs"] async : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.result "loss", %a : memref<64xf32>
  }
}

// -----

dist.mesh @mesh [<"fs" = 2>]
plan.program @never_begun arena 256 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    // expected-error@+1 {{waits for a collective that has not begun, or was waited for}}
    plan.launch collective ins(%w : memref<64xf32>) outs(%w : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = dist.wait %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
  }
}
