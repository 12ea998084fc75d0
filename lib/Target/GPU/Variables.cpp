//===- Variables.cpp - Variables of device code ---------------------------===//

#include "Variables.h"

#include "llvm/IR/Instructions.h"

using namespace hone;

void hone::collectUsers(llvm::Value *value,
                        llvm::SmallPtrSetImpl<llvm::Function *> &functions) {
  for (llvm::User *user : value->users())
    if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(user))
      functions.insert(instruction->getFunction());
    else
      collectUsers(user, functions);
}

uint64_t hone::countSharedBytes(llvm::Function &function) {
  llvm::Module &module = *function.getParent();
  uint64_t bytes = 0;
  for (llvm::GlobalVariable &global : module.globals()) {
    llvm::SmallPtrSet<llvm::Function *, 4> users;
    collectUsers(&global, users);
    if (global.getAddressSpace() == sharedSpace && users.contains(&function))
      bytes += module.getDataLayout().getTypeAllocSize(global.getValueType());
  }
  return bytes;
}
