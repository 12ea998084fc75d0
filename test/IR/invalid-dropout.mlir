// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @dropout_c1(%x: tensor<8xf32>, %k: tensor<3xi64>) {
  // expected-error@+1 {{'hone.dropout' op failed to verify that all of {input, result} have same type}}
  %y = "hone.dropout"(%x, %k) {p = 0.1 : f64, salt = 0 : i64} : (tensor<8xf32>, tensor<3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c2(%x: tensor<8xf32>, %k: tensor<4xi64>) {
  // expected-error@+1 {{'hone.dropout' op rng has shape [4], expected [3]}}
  %y = hone.dropout %x, %k p 0.1 salt 3 : tensor<8xf32>, tensor<4xi64>
  return
}

// -----

func.func @dropout_c3(%x: tensor<8xf32>, %k: tensor<3xi64>) {
  // expected-error@+1 {{'hone.dropout' op p is 1.000000e+00, expected 0 <= p < 1}}
  %y = hone.dropout %x, %k p 1.0 salt 3 : tensor<8xf32>, tensor<3xi64>
  return
}

// -----

func.func @dropout_c3_negative(%x: tensor<8xf32>, %k: tensor<3xi64>) {
  // expected-error@+1 {{'hone.dropout' op p is -1.000000e-01, expected 0 <= p < 1}}
  %y = hone.dropout %x, %k p -0.1 salt 3 : tensor<8xf32>, tensor<3xi64>
  return
}

// -----

func.func @dropout_c4(%x: tensor<8xf32>, %k: tensor<3xi64>, %o: tensor<i64>) {
  // expected-error@+1 {{'hone.dropout' op whole is [12], expected multiples of [8]}}
  %y = hone.dropout %x, %k p 0.1 salt 3 origin %o of [12] : tensor<8xf32>, tensor<3xi64>
  return
}
