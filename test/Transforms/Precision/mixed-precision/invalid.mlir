// RUN: not hone-opt %s --hone-mixed-precision=policy=fp9 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not hone-opt %s --hone-mixed-precision=stream=f16 2>&1 | FileCheck %s --check-prefix=STREAM
// RUN: not hone-opt %s --hone-mixed-precision 2>&1 | FileCheck %s --check-prefix=FORWARD

// POLICY: error: policy is 'fp9', expected fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8
// STREAM: error: stream is 'f16', expected f32 or low
// FORWARD: error: has no function @forward of one block
func.func @gradient() {
  return
}
