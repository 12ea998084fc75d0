// RUN: hone-opt %s --hone-separate-documents=end=3 --verify-diagnostics

// expected-error @below {{has no function @forward}}
module {
}
