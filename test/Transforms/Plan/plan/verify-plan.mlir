// RUN: hone-opt %s --hone-verify-plan --split-input-file --verify-diagnostics

// State is there from the start; in place is no overlap.
plan.program @fine arena 512 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 256 : memref<64xf32>
    plan.launch map ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.result "loss", %b : memref<64xf32>
  }
}

// -----

// expected-error@+1 {{has 0 programs, expected one}}
module {}

// -----

// expected-error@below {{has 2 programs, expected one}}
module {
  plan.program @a arena 64 {}
  plan.program @b arena 64 {}
}

// -----

plan.program @read_before_written arena 512 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<64xf32>
    %b = plan.buffer at 256 : memref<64xf32>
    // expected-error@+1 {{reads bytes 0 to 256 before they are written}}
    plan.launch map ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
  }
}

// -----

plan.program @result_never_written arena 512 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<f32>
    // expected-error@+1 {{reads bytes 0 to 4 before they are written}}
    plan.result "loss", %a : memref<f32>
  }
}

// -----

plan.program @written_over arena 512 {
  plan.argument "w" kind "param" at 0 : tensor<32xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<32xf32>
    %a = plan.buffer at 128 : memref<64xf32>
    %b = plan.buffer at 320 : memref<32xf32>
    plan.launch map outs(%a : memref<64xf32>) {
      %r = hone.constant dense<0.0> : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    // expected-note@+1 {{this launch}}
    plan.launch map ins(%w : memref<32xf32>) outs(%b : memref<32xf32>) {
    ^bb0(%x: tensor<32xf32>):
      %r = hone.tanh %x : tensor<32xf32>
      plan.yield %r : tensor<32xf32>
    }
    // expected-error@+1 {{reads bytes 128 to 384, which another launch wrote over}}
    plan.result "loss", %a : memref<64xf32>
  }
}

// -----

plan.program @scratch_writes_over arena 512 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<64xf32>
    %b = plan.buffer at 256 : memref<f32>
    %s = plan.buffer at 128 : memref<16xf32>
    plan.launch map outs(%a : memref<64xf32>) {
      %r = hone.constant dense<0.0> : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    // expected-note@+1 {{this launch}}
    plan.launch map outs(%b : memref<f32>) scratch(%s : memref<16xf32>) {
      %r = hone.constant dense<0.0> : tensor<f32>
      plan.yield %r : tensor<f32>
    }
    // expected-error@+1 {{reads bytes 0 to 256, which another launch wrote over}}
    plan.result "loss", %a : memref<64xf32>
  }
}

// -----

plan.program @part_never_written arena 256 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<8x8xf32>
    %left = plan.view %a at 0 : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1]>>
    plan.launch map outs(%left : memref<8x4xf32, strided<[8, 1]>>) {
      %r = hone.constant dense<0.0> : tensor<8x4xf32>
      plan.yield %r : tensor<8x4xf32>
    }
    // expected-error@+1 {{reads bytes 0 to 256 before they are written}}
    plan.result "loss", %a : memref<8x8xf32>
  }
}

// -----

plan.program @parts_make_the_whole arena 256 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<8x8xf32>
    %left = plan.view %a at 0 : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1]>>
    %right = plan.view %a at 16 : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1]>>
    plan.launch map outs(%left, %right : memref<8x4xf32, strided<[8, 1]>>, memref<8x4xf32, strided<[8, 1]>>) {
      %r = hone.constant dense<0.0> : tensor<8x4xf32>
      plan.yield %r, %r : tensor<8x4xf32>, tensor<8x4xf32>
    }
    plan.result "loss", %a : memref<8x8xf32>
  }
}

// -----

// Writing a part again does not bring the rest back.
plan.program @part_written_over arena 256 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<8x8xf32>
    %row = plan.view %a at 0 : memref<8x8xf32> to memref<8xf32>
    %b = plan.buffer at 0 : memref<16xf32>
    plan.launch map outs(%a : memref<8x8xf32>) {
      %r = hone.constant dense<0.0> : tensor<8x8xf32>
      plan.yield %r : tensor<8x8xf32>
    }
    // expected-note@+1 {{this launch}}
    plan.launch map outs(%b : memref<16xf32>) {
      %r = hone.constant dense<0.0> : tensor<16xf32>
      plan.yield %r : tensor<16xf32>
    }
    plan.launch map outs(%row : memref<8xf32>) {
      %r = hone.constant dense<0.0> : tensor<8xf32>
      plan.yield %r : tensor<8xf32>
    }
    // expected-error@+1 {{reads bytes 0 to 256, which another launch wrote over}}
    plan.result "loss", %a : memref<8x8xf32>
  }
}

// -----

plan.program @state_written_over arena 256 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %new = plan.buffer at 0 : memref<64xf32>
    // expected-note@+1 {{this launch}}
    plan.launch map ins(%w : memref<64xf32>) outs(%new : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    // expected-error@+1 {{reads bytes 0 to 256, which another launch wrote over}}
    plan.result "loss", %w : memref<64xf32>
  }
}

// -----

// expected-error@+1 {{has an arena of 512 bytes, expected 256 as its buffers use}}
plan.program @too_large arena 512 {
  plan.argument "w" kind "param" at 0 : tensor<60xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<60xf32>
  }
}

// -----

plan.program @p arena 0 {}
// expected-error@+1 {{is left after the plan}}
func.func @step() {
  return
}

// -----

plan.program @two_results_in_one_place arena 512 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 256 : memref<32xf32>
    // expected-error@+1 {{writes bytes 256 to 384 with two of its results}}
    plan.launch row ins(%w : memref<64xf32>) outs(%a, %b : memref<64xf32>, memref<32xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      %s = hone.slice %x [0] to [32] by [1] : tensor<64xf32> -> tensor<32xf32>
      plan.yield %r, %s : tensor<64xf32>, tensor<32xf32>
    }
  }
}

// -----

// expected-error@+1 {{has categories of 192 bytes together, expected 256 as the arena has}}
plan.program @categories_do_not_add_up arena 256 categories {gaps = 64 : i64, parameters = 128 : i64} {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
}

// -----

// What ranks exchange is one run, and so is a result.
dist.mesh @mesh [<"tp" = 2>]
plan.program @strided_exchange arena 384 {
  plan.argument "w" kind "param" at 0 : tensor<4x16xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<4x16xf32>
    %v = plan.view %w at 0 : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
    %a = plan.buffer at 256 : memref<4x8xf32>
    // expected-error@+1 {{of family collective takes a buffer with gaps, expected one run of memory}}
    plan.launch collective ins(%v : memref<4x8xf32, strided<[16, 1]>>) outs(%a : memref<4x8xf32>) {
    ^bb0(%x: tensor<4x8xf32>):
      %r = dist.all_reduce sum %x over ["tp"] : tensor<4x8xf32>
      plan.yield %r : tensor<4x8xf32>
    }
  }
}

// -----

plan.program @strided_result arena 256 {
  plan.argument "w" kind "param" at 0 : tensor<4x16xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<4x16xf32>
    %v = plan.view %w at 0 : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
    // expected-error@+1 {{is a buffer with gaps, expected one run of memory}}
    plan.result "loss", %v : memref<4x8xf32, strided<[16, 1]>>
  }
}

// -----

// A row kernel steps over gaps between rows of one distance: heads of such rows have none.
plan.program @heads_of_rows_with_gaps arena 1152 {
  plan.argument "w" kind "param" at 0 : tensor<8x32xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<8x32xf32>
    %v = plan.view %w at 0 : memref<8x32xf32> to memref<8x16xf32, strided<[32, 1]>>
    %h = plan.view %v at 0 : memref<8x16xf32, strided<[32, 1]>> to memref<8x4x4xf32, strided<[32, 4, 1]>>
    %a = plan.buffer at 1024 : memref<8x4xf32>
    // expected-error@+1 {{has rows of unequal distances in a buffer with gaps, expected one}}
    plan.launch row ins(%h : memref<8x4x4xf32, strided<[32, 4, 1]>>) outs(%a : memref<8x4xf32>) {
    ^bb0(%x: tensor<8x4x4xf32>):
      %r = hone.reduce sum %x dims [2] : tensor<8x4x4xf32> -> tensor<8x4xf32>
      plan.yield %r : tensor<8x4xf32>
    }
  }
}

// -----

// A launch that writes a row of its output finds the others there.
plan.program @part_written_elsewhere arena 640 {
  plan.argument "at" kind "scalar" at 0 : tensor<i64>
  plan.argument "cache" kind "cache" at 64 : tensor<16x4xf32>
  plan.argument "row" kind "buffer" at 320 : tensor<1x4xf32>
  plan.function @generate {
    %at = plan.buffer at 0 : memref<i64>
    %old = plan.buffer at 64 : memref<16x4xf32>
    %row = plan.buffer at 320 : memref<1x4xf32>
    %new = plan.buffer at 384 : memref<16x4xf32>
    // expected-error@+1 {{writes only a part of output 0, expected it at byte 64 as input 0, found it at byte 384}}
    plan.launch line ins(%old, %row, %at : memref<16x4xf32>, memref<1x4xf32>, memref<i64>) outs(%new : memref<16x4xf32>) {
    ^bb0(%x: tensor<16x4xf32>, %u: tensor<1x4xf32>, %n: tensor<i64>):
      %r = hone.update_slice %x, %u at %n dim 0 : tensor<16x4xf32>, tensor<1x4xf32>
      plan.yield %r : tensor<16x4xf32>
    }
  }
}

// -----

// A kernel widens what it reads and writes over it, at the same point.
plan.program @widened_in_place arena 256 {
  plan.argument "x" kind "input" at 0 : tensor<4x32xbf16>
  plan.function @step {
    %x = plan.buffer at 0 : memref<4x32xbf16>
    %y = plan.buffer at 0 : memref<4x32xbf16>
    plan.launch row ins(%x : memref<4x32xbf16>) outs(%y : memref<4x32xbf16>) {
    ^bb0(%a: tensor<4x32xbf16>):
      %w = hone.cast %a : tensor<4x32xbf16> -> tensor<4x32xf32>
      %m = hone.reduce max %w dims [1] : tensor<4x32xf32> -> tensor<4xf32>
      %b = hone.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x32xf32>
      %s = hone.sub %w, %b : tensor<4x32xf32>
      %n = hone.cast %s : tensor<4x32xf32> -> tensor<4x32xbf16>
      plan.yield %n : tensor<4x32xbf16>
    }
    plan.result "loss", %y : memref<4x32xbf16>
  }
}

// -----

// In rows of one element, a value per row is at its only point.
plan.program @rows_of_one_element arena 128 {
  plan.argument "x" kind "input" at 0 : tensor<32x1xf32>
  plan.function @step {
    %x = plan.buffer at 0 : memref<32x1xf32>
    %y = plan.buffer at 0 : memref<32x1xf32>
    plan.launch row ins(%x : memref<32x1xf32>) outs(%y : memref<32x1xf32>) {
    ^bb0(%a: tensor<32x1xf32>):
      %s = hone.reduce sum %a dims [1] : tensor<32x1xf32> -> tensor<32xf32>
      %r = hone.reshape %s : tensor<32xf32> -> tensor<32x1xf32>
      plan.yield %r : tensor<32x1xf32>
    }
    plan.result "loss", %y : memref<32x1xf32>
  }
}

// -----

// Columns of one value lie between those of the other.
plan.program @each_over_its_own_part arena 256 {
  plan.argument "x" kind "input" at 0 : tensor<4x16xf32>
  plan.function @step {
    %x = plan.buffer at 0 : memref<4x16xf32>
    %l = plan.view %x at 0 : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
    %r = plan.view %x at 32 : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
    %y = plan.buffer at 0 : memref<4x16xf32>
    %dl = plan.view %y at 0 : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
    %dr = plan.view %y at 32 : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
    plan.launch map
        ins(%l, %r : memref<4x8xf32, strided<[16, 1]>>, memref<4x8xf32, strided<[16, 1]>>)
        outs(%dl, %dr : memref<4x8xf32, strided<[16, 1]>>, memref<4x8xf32, strided<[16, 1]>>) {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
      %s = hone.mul %a, %b : tensor<4x8xf32>
      %t = hone.add %a, %b : tensor<4x8xf32>
      plan.yield %s, %t : tensor<4x8xf32>, tensor<4x8xf32>
    }
    plan.result "loss", %y : memref<4x16xf32>
  }
}

// -----

// The other rows read at point i - 1 what a row has written at point i.
plan.program @shifted_in_place arena 320 {
  plan.argument "x" kind "input" at 0 : tensor<4x16xf32>
  plan.function @step {
    %x = plan.buffer at 0 : memref<4x16xf32>
    %y = plan.buffer at 64 : memref<4x16xf32>
    // expected-error@+1 {{writes output 0 over input 0, which it may read later, expected it at other bytes than 0 to 256}}
    plan.launch map ins(%x : memref<4x16xf32>) outs(%y : memref<4x16xf32>) {
    ^bb0(%a: tensor<4x16xf32>):
      %t = hone.tanh %a : tensor<4x16xf32>
      plan.yield %t : tensor<4x16xf32>
    }
  }
}

// -----

// Every row reads the vector along columns; each writes an element of that along rows.
plan.program @vector_of_columns_under_rows arena 1088 {
  plan.argument "x" kind "input" at 0 : tensor<16x16xf32>
  plan.argument "v" kind "input" at 1024 : tensor<16xf32>
  plan.function @step {
    %x = plan.buffer at 0 : memref<16x16xf32>
    %v = plan.buffer at 1024 : memref<16xf32>
    %y = plan.buffer at 1024 : memref<16xf32>
    // expected-error@+1 {{writes output 0 over input 1, which it may read later, expected it at other bytes than 1024 to 1088}}
    plan.launch row ins(%x, %v : memref<16x16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) {
    ^bb0(%a: tensor<16x16xf32>, %b: tensor<16xf32>):
      %c = hone.broadcast %b dims [1] : tensor<16xf32> -> tensor<16x16xf32>
      %p = hone.mul %a, %c : tensor<16x16xf32>
      %s = hone.reduce sum %p dims [1] : tensor<16x16xf32> -> tensor<16xf32>
      plan.yield %s : tensor<16xf32>
    }
  }
}

// -----

// Ids pick rows of the table in any order.
plan.program @rows_under_their_table arena 1088 {
  plan.argument "table" kind "input" at 0 : tensor<16x16xf32>
  plan.argument "ids" kind "input" at 1024 : tensor<16xi32>
  plan.function @step {
    %x = plan.buffer at 0 : memref<16x16xf32>
    %v = plan.buffer at 1024 : memref<16xi32>
    %y = plan.buffer at 0 : memref<16x16xf32>
    // expected-error@+1 {{writes output 0 over input 0, which it may read later, expected it at other bytes than 0 to 1024}}
    plan.launch map ins(%x, %v : memref<16x16xf32>, memref<16xi32>) outs(%y : memref<16x16xf32>) {
    ^bb0(%a: tensor<16x16xf32>, %b: tensor<16xi32>):
      %p = hone.embedding %a, %b : tensor<16x16xf32>, tensor<16xi32> -> tensor<16x16xf32>
      %s = hone.neg %p : tensor<16x16xf32>
      plan.yield %s : tensor<16x16xf32>
    }
  }
}
