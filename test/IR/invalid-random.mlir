// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @random_c1(%k: tensor<2xi64>) {
  // expected-error@+1 {{'hone.random' op key has shape [2], expected [3]}}
  %r = hone.random uniform(%k) salt 7 : tensor<2xi64> -> tensor<8xf32>
  return
}

// -----

func.func @random_c2(%k: tensor<3xi64>) {
  // expected-error@+1 {{'hone.random' op result has 17179869184 elements, expected fewer than 2^34}}
  %r = hone.random uniform(%k) salt 7 : tensor<3xi64> -> tensor<131072x131072xf32>
  return
}
