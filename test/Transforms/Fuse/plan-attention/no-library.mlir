// Without a library that answers, attention is in parts, with one warning; where a call is wanted, that is an error.
// RUN: not hone-opt %s --hone-plan-attention="tool=%t.none required" 2>&1 | FileCheck %s --check-prefixes=ERROR,NONE
// RUN: hone-opt %s --hone-plan-attention="tool=%t.none" 2>&1 | FileCheck %s --check-prefixes=WARNING,NONE
// RUN: env PLANNER=lost hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,LOST
// RUN: env PLANNER=crash hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,CRASH
// RUN: env PLANNER=silent hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,SILENT
// RUN: env PLANNER=unnamed hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,SHORT
// RUN: env PLANNER=short hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,SHORT
// RUN: env PLANNER=odd hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,ODD
// RUN: env PLANNER=nofile hone-opt %s --hone-plan-attention="tool=%S/Inputs/planner.sh" 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=WARNING,NOFILE

// ERROR: error: no fused attention:
// WARNING: warning: attention is in parts, without a fused kernel:
// NONE-SAME: none: not found
// LOST-SAME: planner.sh: libcudnn_graph.so.9: cannot be opened
// CRASH-SAME: planner.sh:
// SILENT-SAME: planner.sh: failed with exit status 3
// SHORT-SAME: planner.sh: wrote {{[12]}} lines, expected 'cudnn VERSION' and 2 answers
// ODD-SAME: planner.sh: answered 'perhaps 64', expected 'plan BYTES FILE' or 'refused REASON'
// NOFILE-SAME: missing.json: cannot be read:
// WARNING-NOT: warning
// WARNING-NOT: hone.workspace
module attributes {hone.target = "cuda sm_90"} {
  func.func @attention(%q: tensor<2x24x4x16xbf16>) -> tensor<2x24x4x16xbf16> {
    %o, %l = hone.attention %q, %q, %q scale 1.0
        : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>)
        -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
    return %o : tensor<2x24x4x16xbf16>
  }
}
