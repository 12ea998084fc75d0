// The activation of a product has a kernel too, which adds the bias and works in place, for GPUs whose library lacks the
// epilogue. Here it stores its argument; equal products share it.
// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// CHECK: llvm.func @hone_program
// CHECK: llvm.call @honert_matmul(
// CHECK: llvm.call @honert_matmul_epilogue(
// CHECK: llvm.call @honert_matmul_activation(
// CHECK: llvm.call @honert_matmul(
// CHECK: llvm.call @honert_matmul_epilogue(
// CHECK: llvm.call @honert_matmul_activation(
// CHECK: gpu.func @k0_contraction
// CHECK-SAME: %[[V:arg2]]: !llvm.ptr {llvm.noalias, llvm.readonly}
// CHECK-SAME: %[[U:arg3]]: !llvm.ptr {llvm.noalias}, %[[C:arg4]]: !llvm.ptr {llvm.noalias}) kernel
// CHECK: %[[ATC:.*]] = llvm.getelementptr %[[C]]
// CHECK: llvm.load %[[ATC]] {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK: %[[ATV:.*]] = llvm.getelementptr %[[V]]
// CHECK: llvm.load %[[ATV]] {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK: arith.addf
// CHECK: %[[ATU:.*]] = llvm.getelementptr %[[U]]
// CHECK: llvm.store %{{.*}}, %[[ATU]] {alignment = 16 : i64} : vector<8xbf16>
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[C]]
// CHECK: llvm.store %{{.*}}, %[[TO]] {alignment = 16 : i64} : vector<8xbf16>
// CHECK-NOT: gpu.func
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %a = plan.buffer at 0 : memref<24x16xbf16>
      %b = plan.buffer at 4096 : memref<16x40xbf16>
      %v = plan.buffer at 8192 : memref<40xbf16>
      %u = plan.buffer at 16384 : memref<24x40xbf16>
      %c = plan.buffer at 32768 : memref<24x40xbf16>
      plan.launch contraction ins(%a, %b, %v : memref<24x16xbf16>, memref<16x40xbf16>, memref<40xbf16>)
          outs(%u, %c : memref<24x40xbf16>, memref<24x40xbf16>) {
      ^bb0(%x: tensor<24x16xbf16>, %y: tensor<16x40xbf16>, %z: tensor<40xbf16>):
        %p = hone.dot_general %x, %y batch [] x [] contract [1] x [0] : tensor<24x16xbf16>, tensor<16x40xbf16> -> tensor<24x40xbf16>
        %q = hone.broadcast %z dims [1] : tensor<40xbf16> -> tensor<24x40xbf16>
        %r = hone.add %p, %q : tensor<24x40xbf16>
        %s = hone.gelu tanh %r : tensor<24x40xbf16>
        plan.yield %r, %s : tensor<24x40xbf16>, tensor<24x40xbf16>
      }
      plan.launch contraction ins(%a, %b, %v : memref<24x16xbf16>, memref<16x40xbf16>, memref<40xbf16>)
          outs(%u, %c : memref<24x40xbf16>, memref<24x40xbf16>) {
      ^bb0(%x: tensor<24x16xbf16>, %y: tensor<16x40xbf16>, %z: tensor<40xbf16>):
        %p = hone.dot_general %x, %y batch [] x [] contract [1] x [0] : tensor<24x16xbf16>, tensor<16x40xbf16> -> tensor<24x40xbf16>
        %q = hone.broadcast %z dims [1] : tensor<40xbf16> -> tensor<24x40xbf16>
        %r = hone.add %p, %q : tensor<24x40xbf16>
        %s = hone.gelu tanh %r : tensor<24x40xbf16>
        plan.yield %r, %s : tensor<24x40xbf16>, tensor<24x40xbf16>
      }
    }
  }
}
