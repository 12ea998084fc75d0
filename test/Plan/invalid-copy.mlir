// RUN: hone-opt %s --verify-diagnostics --split-input-file

plan.program @copy_c1 arena 256 host 256 {
  plan.function @step {
    %m = plan.buffer at 0 : memref<16xf32>
    // expected-error@+1 {{'plan.copy' op has offset 32, expected a multiple of 64}}
    plan.copy up %m at 32 token 0 : memref<16xf32>
  }
}

// -----

plan.program @copy_c1_outside arena 512 host 256 {
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    // expected-error@+1 {{'plan.copy' op covers 256 bytes from 64 on, expected inside [0, 256) of the second arena}}
    plan.copy up %m at 64 token 0 : memref<64xf32>
  }
}

// -----

plan.program @copy_c1_none arena 512 {
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    // expected-error@+1 {{'plan.copy' op covers 256 bytes from 0 on, expected inside [0, 0) of the second arena}}
    plan.copy down %m at 0 token 0 : memref<64xf32>
  }
}

// -----

plan.program @copy_c2 arena 512 host 512 {
  plan.function @step {
    %m = plan.buffer at 0 : memref<8x16xf32>
    %v = plan.view %m at 0 : memref<8x16xf32> to memref<8x8xf32, strided<[16, 1]>>
    // expected-error@+1 {{'plan.copy' op copies 'memref<8x8xf32, strided<[16, 1]>>' with gaps, expected one run of memory}}
    plan.copy up %v at 0 token 0 : memref<8x8xf32, strided<[16, 1]>>
  }
}

// -----

plan.program @copy_c3 arena 256 host 256 {
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    // expected-error@+1 {{'plan.copy' op has token -1, expected a number from 0}}
    plan.copy up %m at 0 token -1 : memref<64xf32>
  }
}

// -----

plan.program @wait_c1 arena 256 host 256 {
  plan.function @step {
    // expected-error@+1 {{'plan.wait' op is for token 3, with which no copy before it has begun}}
    plan.wait 3
  }
}

// -----

plan.program @wait_c1_twice arena 256 host 256 {
  plan.function @step {
    %m = plan.buffer at 0 : memref<64xf32>
    plan.copy up %m at 0 token 0 : memref<64xf32>
    plan.wait 0
    // expected-error@+1 {{'plan.wait' op is the second for token 0}}
    plan.wait 0
  }
}
