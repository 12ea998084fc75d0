// A pass of a plugin sees ops by their types: the plugin takes the dialect from hone-opt.
// RUN: hone-opt %s --load-pass-plugin=%plugins/typed.so --my-drop-abs 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// CHECK: hone.abs
// CHECK-NOT: hone.abs
// REMARK: remark: saves 32 B

// In any order, with a name like those of hone-opt, in a pipeline, from the folder of the plugin.
// RUN: hone-opt --hone-drop-abs %s -load-pass-plugin %plugins/typed.so 2> %t.remarks | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(my-drop-abs))' --load-pass-plugin=%plugins/typed.so 2> %t.remarks | FileCheck %s
// RUN: cd %plugins
// RUN: hone-opt %s --my-drop-abs --load-pass-plugin=typed.so 2> %t.remarks | FileCheck %s

// A copy of the dialect would see no op, even one that nobody can see from outside.
// RUN: not hone-opt %s --load-pass-plugin=%plugins/copy.so --my-drop-abs 2>&1 | FileCheck %s --check-prefix=COPY
// COPY: error: {{.*}}copy.so: has a copy of the hone dialect of its own, expected none: link it without libHoneIR.a

// Nor may it be built for other headers: none of its code runs. That is found before missing symbols are.
// RUN: sed 's/was built for Hone 0/was built for Hone 9/' %plugins/missing.so > %t.other.so
// RUN: not hone-opt %s --load-pass-plugin=%t.other.so --my-drop-abs 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: {{.*}}.other.so: was built for Hone 9[[REST:[.0-9]+-[0-9a-f]+]], this is 0[[REST]]: build it again
// RUN: not hone-opt %s --load-dialect-plugin=%t.other.so 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: sed 's/was built for Hone/was made for Hone /' %plugins/typed.so > %t.unknown.so
// RUN: not hone-opt %s --load-pass-plugin=%t.unknown.so --my-drop-abs 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}.unknown.so: does not say which Hone it was built for, expected {{[.0-9]+-[0-9a-f]+}}: build it with hone_add_pass_plugin of find_package(Hone)
// A file of the loader's own folders would not be checked: a name is one of this folder.
// RUN: cd %S
// RUN: env LD_LIBRARY_PATH=%plugins not hone-opt %s --load-pass-plugin=missing.so 2>&1 | FileCheck %s --check-prefix=HERE
// HERE: error: ./missing.so: cannot be loaded: cannot open shared object file

// What is missing is named before a pass calls it.
// RUN: not hone-opt %s --load-pass-plugin=%plugins/missing.so --my-drop-abs 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}missing.so: cannot be loaded: undefined symbol: {{.*}}isDefinedNowhere
// RUN: not hone-opt %s --load-pass-plugin=%t.none --my-drop-abs 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: {{.*}}.none: cannot be loaded: cannot open shared object file: No such file or directory
// RUN: not hone-opt %s --load-pass-plugin=%s --my-drop-abs 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: {{.*}}plugin.mlir: cannot be loaded: {{.*}}
// RUN: not hone-opt %s --load-dialect-plugin=%plugins/typed.so 2>&1 | FileCheck %s --check-prefix=DIALECT
// DIALECT: error: {{.*}}typed.so: is no plugin: {{.*}}
// RUN: not hone-opt %s --load-pass-plugin 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: error: --load-pass-plugin: no value, expected a shared library
// RUN: not hone-opt %s --load-pass-plugin=%plugins/typed.so --my-drop-ab 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: Unknown command line argument '--my-drop-ab'.
// NAME: Did you mean '--my-drop-abs'?

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hone.abs %x : tensor<8xf32>
  %1 = hone.abs %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
