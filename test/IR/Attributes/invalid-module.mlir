// RUN: hone-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{dialect version is 2 : i64, this compiler reads 1}}
module attributes {hone.version = 2 : i64} {
}

// -----

// expected-error@+1 {{dialect version is "1", this compiler reads 1}}
module attributes {hone.version = "1"} {
}
