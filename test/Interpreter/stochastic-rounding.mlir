// bf16 has 8 bits: next to 1 its neighbours are 1 - 2^-8 and 1 + 2^-7.
// RUN: hone-run --eval %s | FileCheck %s
// RUN: hone-run --eval %s --f64 | FileCheck %s --check-prefix=F64

// 4,096 updates of 1 by a tenth of the distance to the upper neighbour: about a tenth of them happen, and the mean is
// that of exact arithmetic. Rounded to nearest, none would.
// CHECK-LABEL: @mean_of_many
// CHECK-NEXT: result 0: tensor<f32> = 1.0007{{[0-9]*}}{{$}}
// CHECK-NEXT: result 1: tensor<f32> = 1{{$}}
// F64-LABEL: @mean_of_many
// F64-NEXT: result 0: tensor<f32> = 1.00078125
// F64-NEXT: result 1: tensor<f32> = 1.00078125
func.func @mean_of_many() -> (tensor<f32>, tensor<f32>) {
  %p = hone.constant dense<1.0> : tensor<4096xbf16>
  %g = hone.constant dense<-0.00078125> : tensor<4096xf32>
  %one = hone.constant dense<1.0> : tensor<f32>
  %zero = hone.constant dense<0.0> : tensor<f32>
  %key = hone.constant dense<[5, 3, 0]> : tensor<3xi64>
  %count = hone.constant dense<4096.0> : tensor<f32>
  %p1 = hone.sgd %p, %g lr %one weight_decay %zero grad_scale %one rng %key salt 2
      : (tensor<4096xbf16>, tensor<4096xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>)
      -> tensor<4096xbf16>
  %wide = hone.cast %p1 : tensor<4096xbf16> -> tensor<4096xf32>
  %sum = hone.reduce sum %wide dims [0] : tensor<4096xf32> -> tensor<f32>
  %mean = hone.div %sum, %count : tensor<f32>
  %p2 = hone.sgd %p, %g lr %one weight_decay %zero grad_scale %one
      : (tensor<4096xbf16>, tensor<4096xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4096xbf16>
  %wide2 = hone.cast %p2 : tensor<4096xbf16> -> tensor<4096xf32>
  %sum2 = hone.reduce sum %wide2 dims [0] : tensor<4096xf32> -> tensor<f32>
  %nearest = hone.div %sum2, %count : tensor<f32>
  return %mean, %nearest : tensor<f32>, tensor<f32>
}

// The words of hone.random decide: element i goes up exactly if the upper half of its word, added below, carries. The
// fraction here is one half of the distance to the neighbour, so it goes up exactly if uniform >= 1/2.
// CHECK-LABEL: @words
// CHECK-NEXT: result 0: tensor<8xf32> = [[UP:.*]]{{$}}
// CHECK-NEXT: result 1: tensor<8xf32> = [[UP]]{{$}}
func.func @words() -> (tensor<8xf32>, tensor<8xf32>) {
  %p = hone.constant dense<1.0> : tensor<8xbf16>
  %g = hone.constant dense<-0.00390625> : tensor<8xf32>
  %one = hone.constant dense<1.0> : tensor<f32>
  %zero = hone.constant dense<0.0> : tensor<f32>
  %key = hone.constant dense<[5, 3, 0]> : tensor<3xi64>
  %p1 = hone.sgd %p, %g lr %one weight_decay %zero grad_scale %one rng %key salt 2
      : (tensor<8xbf16>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<8xbf16>
  %wide = hone.cast %p1 : tensor<8xbf16> -> tensor<8xf32>
  %u = hone.random uniform(%key) salt 2 : tensor<3xi64> -> tensor<8xf32>
  %half = hone.constant dense<0.5> : tensor<8xf32>
  %upper = hone.constant dense<1.0078125> : tensor<8xf32>
  %lower = hone.constant dense<1.0> : tensor<8xf32>
  %up = hone.cmp ge, %u, %half : tensor<8xf32> -> tensor<8xi1>
  %wanted = hone.select %up, %upper, %lower : tensor<8xi1>, tensor<8xf32>
  return %wide, %wanted : tensor<8xf32>, tensor<8xf32>
}

// What is representable stays, whatever the word: zeros of padding too. Signs do not matter; what is not finite stays.
// CHECK-LABEL: @kept
// CHECK-NEXT: result 0: tensor<6xbf16> = [0, 0.5, -0.5, -inf, inf, nan]{{$}}
func.func @kept() -> tensor<6xbf16> {
  %p = hone.constant dense<[0.0, 0.5, -0.5, 0.0, 0.0, 0x7FC0]> : tensor<6xbf16>
  %g = hone.constant dense<[0.0, 0.0, 0.0, 0x7F800000, 0xFF800000, 0.0]> : tensor<6xf32>
  %one = hone.constant dense<1.0> : tensor<f32>
  %zero = hone.constant dense<0.0> : tensor<f32>
  %key = hone.constant dense<[5, 3, 0]> : tensor<3xi64>
  %p1 = hone.sgd %p, %g lr %one weight_decay %zero grad_scale %one rng %key
      : (tensor<6xbf16>, tensor<6xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<6xbf16>
  return %p1 : tensor<6xbf16>
}

// The three results of AdamW take different bits of one word: [31:16], [23:8] and [15:0].
// CHECK-LABEL: @adamw_bits
// CHECK-NEXT: result 0: tensor<i64> = 0{{$}}
func.func @adamw_bits() -> tensor<i64> {
  %p = hone.constant dense<1.0> : tensor<64xbf16>
  %g = hone.constant dense<1.00390625> : tensor<64xf32>
  %m = hone.constant dense<0.0> : tensor<64xbf16>
  %one = hone.constant dense<1.0> : tensor<f32>
  %zero = hone.constant dense<0.0> : tensor<f32>
  %t = hone.constant dense<1> : tensor<i64>
  %key = hone.constant dense<[5, 3, 0]> : tensor<3xi64>
  // beta1 = 0: the first moment is the gradient, half way between two neighbours.
  %p1, %m1, %v1 = hone.adamw %p, %g, %m, %m lr %zero weight_decay %zero step %t grad_scale %one rng %key salt 2
      {beta1 = 0.0, beta2 = 0.0, eps = 1.0e-08}
      : (tensor<64xbf16>, tensor<64xf32>, tensor<64xbf16>, tensor<64xbf16>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>, tensor<3xi64>) -> (tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>)
  // Bit 23 of the word, from the uniform number's 24 bits: bit 15 of them.
  %u = hone.random uniform(%key) salt 2 : tensor<3xi64> -> tensor<64xf32>
  %scale = hone.constant dense<256.0> : tensor<64xf32>
  %high = hone.mul %u, %scale : tensor<64xf32>
  %byte = hone.cast %high : tensor<64xf32> -> tensor<64xi64>
  %floor = hone.cast %byte : tensor<64xi64> -> tensor<64xf32>
  %rest = hone.sub %high, %floor : tensor<64xf32>
  %half = hone.constant dense<0.5> : tensor<64xf32>
  %up = hone.cmp ge, %rest, %half : tensor<64xf32> -> tensor<64xi1>
  %upper = hone.constant dense<1.0078125> : tensor<64xbf16>
  %is = hone.cmp eq, %m1, %upper : tensor<64xbf16> -> tensor<64xi1>
  %differs = hone.cmp ne, %is, %up : tensor<64xi1> -> tensor<64xi1>
  %count = hone.cast %differs : tensor<64xi1> -> tensor<64xi64>
  %sum = hone.reduce sum %count dims [0] : tensor<64xi64> -> tensor<i64>
  return %sum : tensor<i64>
}
