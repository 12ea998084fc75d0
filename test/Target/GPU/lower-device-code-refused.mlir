// RUN: hone-opt %s --hone-lower-to-nvvm --split-input-file --verify-diagnostics

gpu.module @device {
  // expected-error@+1 {{'gpu.func' op 'rows' has parameter 1 of type 'memref<?xf32>', expected a static shape and strides}}
  gpu.func @rows(%x: memref<4xf32>, %y: memref<?xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @doubles(%x: !llvm.ptr) kernel {
    %v = llvm.load %x : !llvm.ptr -> f64
    // expected-error@+1 {{'math.exp' op of 'f64' has neither an instruction nor a polynomial on a GPU}}
    %w = math.exp %v : f64
    llvm.store %w, %x : f64, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @remainder(%x: !llvm.ptr) kernel {
    %v = llvm.load %x : !llvm.ptr -> f32
    // expected-error@+1 {{'arith.remf' op of 'f32' has neither an instruction nor a polynomial on a GPU}}
    %w = arith.remf %v, %v : f32
    llvm.store %w, %x : f32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @sums(%x: !llvm.ptr) kernel {
    %v = llvm.load %x : !llvm.ptr -> f32
    // expected-error@+1 {{failed to legalize operation 'gpu.all_reduce'}}
    %w = gpu.all_reduce add %v {} : (f32) -> f32
    llvm.store %w, %x : f32, !llvm.ptr
    gpu.return
  }
}
