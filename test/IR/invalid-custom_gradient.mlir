// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @custom_gradient_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{results differ from the types of its values}}
  %y = "hone.custom_gradient"(%x, %x) <{operandSegmentSizes = array<i32: 1, 1, 0>}> ({
  ^bb0(%g: tensor<8xf32>):
    "hone.yield"(%g) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @custom_gradient_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{block arguments differ from the types of the results of floating point and of saved values}}
  %y = hone.custom_gradient values(%x : tensor<8xf32>) inputs(%x : tensor<8xf32>) saved(%x : tensor<8xf32>) {
  ^bb0(%g: tensor<8xf32>):
    hone.yield %g : tensor<8xf32>
  }
  return
}

// -----

func.func @custom_gradient_c3(%x: tensor<8xf32>, %w: tensor<4xf32>) {
  // expected-error@+1 {{yields other types than its inputs have}}
  %y = hone.custom_gradient values(%x : tensor<8xf32>) inputs(%w : tensor<4xf32>) {
  ^bb0(%g: tensor<8xf32>):
    hone.yield %g : tensor<8xf32>
  }
  return
}

// -----

func.func @custom_gradient_c4(%x: tensor<8xf32>, %key: tensor<3xi64>) {
  // expected-error@+1 {{holds 'hone.dropout', expected ops of the graph without a body that draw no random numbers}}
  %y = hone.custom_gradient values(%x : tensor<8xf32>) inputs(%x : tensor<8xf32>) saved(%key : tensor<3xi64>) {
  ^bb0(%g: tensor<8xf32>, %k: tensor<3xi64>):
    %d = hone.dropout %g, %k p 0.1 salt 3 : tensor<8xf32>, tensor<3xi64>
    hone.yield %d : tensor<8xf32>
  }
  return
}
