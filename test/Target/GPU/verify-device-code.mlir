// RUN: hone-opt %s --pass-pipeline='builtin.module(gpu.module(hone-verify-device-code))' --split-input-file --verify-diagnostics

gpu.module @device {
  llvm.func @kernel(%x: !llvm.ptr) attributes {nvvm.kernel} {
    nvvm.barrier0
    llvm.return
  }
}

// -----

gpu.module @device {
  llvm.func @kernel(%x: f32) attributes {nvvm.kernel} {
    // expected-error@+1 {{'arith.addf' op is left after the lowering of device code}}
    %y = arith.addf %x, %x : f32
    llvm.return
  }
}

// -----

gpu.module @device {
  // expected-error@+1 {{'llvm.func' op is '__nv_expf', which has no body on the device}}
  llvm.func @__nv_expf(f32) -> f32
}
