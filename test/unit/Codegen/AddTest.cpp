//===- AddTest.cpp - Additions of many tensors ----------------------------===//

#include "KernelCase.h"

#include "Codegen/CPU/GenericKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

TEST(Adds, OfManyTensorsInPlace) {
  // Sizes around a vector and a block of a GPU, of two types.
  std::vector<int64_t> sizes = {1, 3, 4, 8, 4095, 4096, 4097, 12288};
  std::vector<std::string> arguments, names, types;
  std::string body;
  CaseOptions options{KernelFamily::multiTensor, 0x1p-8};
  options.equalOnDevice = true;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    std::string n = std::to_string(i), type = "tensor<" + std::to_string(size) +
                                              (i % 3 == 2 ? "xbf16>" : "xf32>");
    arguments.push_back("%x" + n + ": " + type);
    arguments.push_back("%y" + n + ": " + type);
    body +=
        "  %z" + n + " = hone.add %x" + n + ", %y" + n + " : " + type + "\n";
    names.push_back("%z" + n);
    types.push_back(type);
    if (i % 2 == 0)
      options.inPlace.push_back({unsigned(2 * i), unsigned(i)});
  }
  std::string text = "func.func @f(" + llvm::join(arguments, ", ") + ") -> (" +
                     llvm::join(types, ", ") + ") {\n" + body + "  return " +
                     llvm::join(names, ", ") + " : " + llvm::join(types, ", ") +
                     "\n}";
  for (int64_t shift : {0, 1, 4}) {
    options.shift = shift;
    expectLikeInterpreter(emitPoint, text, options);
  }
}
