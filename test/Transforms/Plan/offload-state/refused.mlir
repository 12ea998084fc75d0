// What the update does not read alone stays in the arena; where nothing is left, that is an error.
// RUN: hone-opt %s --hone-offload-state="what=state" --split-input-file --verify-diagnostics
// RUN: not hone-opt %s --hone-offload-state="what=activations budget=64" --split-input-file 2>&1 | FileCheck %s
// RUN: not hone-opt %s --hone-offload-state="what=state overlap=bogus" --split-input-file 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: overlap is 'bogus', expected auto, on or off
// CHECK: option 'offload' is 'activations', which stages of a pipeline keep, expected auto, state or off

// expected-error@+1 {{option 'offload': no state is read by the update alone, expected an optimizer with moments, or offload=off}}
module {
  func.func @step(%w: tensor<64xf32> {hone.kind = "param", hone.fqn = "w"},
                  %good: tensor<i64> {hone.kind = "opt", hone.fqn = "loss_scale.good_steps"}) -> (tensor<64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
    %0 = hone.fused map (%a = %w : tensor<64xf32>) -> tensor<64xf32> {
      %r = hone.neg %a : tensor<64xf32>
      hone.yield %r : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}

// -----

// expected-error@+1 {{option 'offload': no state is read by the update alone, expected an optimizer with moments, or offload=off}}
module attributes {dist.stage = 0 : i64} {}
