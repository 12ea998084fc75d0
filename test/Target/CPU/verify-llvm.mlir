// RUN: hone-opt %s --hone-verify-llvm --split-input-file --verify-diagnostics

llvm.func @honert_arena(!llvm.ptr, i64)
llvm.func @memset(!llvm.ptr, i32, i64)
llvm.func @hone_program(%p: !llvm.ptr) {
  %n = llvm.mlir.constant(64 : i64) : i64
  llvm.call @honert_arena(%p, %n) : (!llvm.ptr, i64) -> ()
  llvm.return
}

// -----

// expected-error@+1 {{'func.func' op is left after the lowering to LLVM}}
func.func @left() {
  return
}

// -----

// expected-error@+1 {{'llvm.func' op is 'expf', which no linked library defines, expected honert_*}}
llvm.func @expf(f32) -> f32
