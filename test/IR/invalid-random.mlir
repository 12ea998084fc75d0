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

// -----

func.func @random_c2_whole(%k: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.random' op whole has 17179869184 elements, expected fewer than 2^34}}
  %r = hone.random uniform(%k) salt 7 origin %o of [131072, 131072] : tensor<3xi64> -> tensor<2x2xf32>
  return
}

// -----

func.func @random_c3(%k: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.random' op whole is [8, 10], expected multiples of [4, 4]}}
  %r = hone.random uniform(%k) salt 7 origin %o of [8, 10] : tensor<3xi64> -> tensor<4x4xf32>
  return
}

// -----

func.func @random_c3_rank(%k: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.random' op whole is [8], expected multiples of [4, 4]}}
  %r = hone.random uniform(%k) salt 7 origin %o of [8] : tensor<3xi64> -> tensor<4x4xf32>
  return
}

// -----

func.func @random_c3_origin(%k: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.random' op has origin without whole, expected both or neither}}
  %r = "hone.random"(%k, %o) {dist = #hone<dist uniform>, salt = 7 : i64}
      : (tensor<3xi64>, tensor<i64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @random_c3_whole(%k: tensor<3xi64>) {
  // expected-error@+1 {{'hone.random' op has whole without origin, expected both or neither}}
  %r = hone.random uniform(%k) salt 7 {whole = array<i64: 8, 8>} : tensor<3xi64> -> tensor<4x4xf32>
  return
}
