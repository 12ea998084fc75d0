//===- HelpOptions.cpp - Which options a tool's help lists ----------------===//

#include "hone/Support/HelpOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace hone;

void hone::hideOptionsOfLLVM() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions()) {
    bool isGeneric = llvm::any_of(option->Categories, [](auto *category) {
      return category->getName() == "Generic Options";
    });
    if (!isGeneric && option->getOptionHiddenFlag() == llvm::cl::NotHidden)
      option->setHiddenFlag(llvm::cl::Hidden);
  }
}
