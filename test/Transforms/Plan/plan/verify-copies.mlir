// Copies between the arenas: what is under way is left alone, and what is read is there.
// RUN: hone-opt %s --hone-verify-plan --split-input-file --verify-diagnostics

// A launch may read what is copied down; a part of the second arena is read again after it was written.
plan.program @fine arena 512 host 256 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.wait 0
    plan.copy down %m at 0 token 1 : memref<64xf32>
    plan.launch map ins(%m : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.wait 1
    plan.copy up %m at 0 token 2 : memref<64xf32>
    plan.wait 2
  }
}

// -----

plan.program @read_before_arrival arena 512 host 256 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    // expected-note@+1 {{this copy}}
    plan.copy up %m at 0 token 0 : memref<64xf32>
    // expected-error@+1 {{reads what a copy under way writes, expected a wait for token 0 before}}
    plan.launch map ins(%m : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.wait 0
  }
}

// -----

plan.program @written_before_departure arena 512 host 256 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.argument "w" kind "param" at 256 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    %w = plan.buffer at 256 : memref<64xf32>
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.wait 0
    // expected-note@+1 {{this copy}}
    plan.copy down %m at 0 token 1 : memref<64xf32>
    // expected-error@+1 {{writes what a copy under way reads, expected a wait for token 1 before}}
    plan.launch map ins(%w : memref<64xf32>) outs(%m : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.wait 1
  }
}

// -----

plan.program @reused_before_departure arena 256 host 512 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.argument "n" kind "opt" host at 256 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    %n = plan.buffer at 0 : memref<64xf32>
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.wait 0
    // expected-note@+1 {{this copy}}
    plan.copy down %m at 0 token 1 : memref<64xf32>
    // expected-error@+1 {{writes what a copy under way reads, expected a wait for token 1 before}}
    plan.copy up %n at 256 token 2 : memref<64xf32>
    plan.wait 1
    plan.wait 2
  }
}

// -----

plan.program @ranges_of_the_second_arena_meet arena 512 host 320 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.argument "n" kind "opt" host at 256 : tensor<16xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    %n = plan.buffer at 256 : memref<16xf32>
    // expected-note@+1 {{this copy}}
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.copy up %n at 256 token 1 : memref<16xf32>
    plan.wait 1
    // expected-error@+1 {{writes what a copy under way writes, expected a wait for token 0 before}}
    plan.copy down %n at 192 token 2 : memref<16xf32>
    plan.wait 0
    plan.wait 2
  }
}

// -----

plan.program @read_before_written arena 256 host 192 {
  plan.argument "m" kind "opt" host at 0 : tensor<16xf32>
  plan.argument "n" kind "opt" host at 128 : tensor<16xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<32xf32>
    // expected-error@+1 {{reads bytes 0 to 128 of the second arena before they are written}}
    plan.copy up %m at 0 token 0 : memref<32xf32>
    plan.wait 0
  }
}

// -----

plan.program @what_goes_down_was_written arena 256 host 256 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    // expected-error@+1 {{reads bytes 0 to 256 before they are written}}
    plan.copy down %m at 0 token 0 : memref<64xf32>
    plan.wait 0
  }
}

// -----

plan.program @never_awaited arena 256 host 256 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    // expected-error@+1 {{of token 0 is under way where the function ends, expected a wait}}
    plan.copy up %m at 0 token 0 : memref<64xf32>
  }
}

// -----

// expected-error@+1 {{has a second arena of 512 bytes, expected 256 as its arguments and copies use}}
plan.program @size arena 256 host 512 {
  plan.argument "m" kind "opt" host at 0 : tensor<64xf32>
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.wait 0
  }
}
