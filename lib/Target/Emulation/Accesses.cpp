//===- Accesses.cpp - Checks before accesses to memory --------------------===//

#include "Accesses.h"

#include "Target/GPU/Variables.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace hone;

// As in honert/emulator.h.
enum AccessKind { writes = 1, isAtomic = 2, isShared = 4, isConstant = 8 };
constexpr unsigned localSpace = 5;

/// Whether PTX reads by way of the cache for constants (ld.global.nc): from
/// parameters that are promised to be so.
static bool readsConstant(const llvm::LoadInst &load) {
  llvm::SmallVector<const llvm::Value *> objects;
  llvm::getUnderlyingObjects(load.getPointerOperand(), objects);
  return llvm::all_of(objects, [](const llvm::Value *object) {
    auto *parameter = llvm::dyn_cast<llvm::Argument>(object);
    return parameter && parameter->hasNoAliasAttr() &&
           parameter->onlyReadsMemory();
  });
}

namespace {
/// Puts checks into one function.
class AccessChecker {
public:
  explicit AccessChecker(llvm::Module &module)
      : module(module), pointer(llvm::PointerType::get(module.getContext(), 0)),
        i64(llvm::Type::getInt64Ty(module.getContext())),
        check(module.getOrInsertFunction(
            "honemu_access", llvm::Type::getVoidTy(module.getContext()),
            pointer, i64, i64, i64)) {}

  void run(llvm::Function &function) {
    llvm::SmallVector<llvm::Instruction *> all;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      all.push_back(&instruction);
    for (llvm::Instruction *instruction : all)
      visit(*instruction);
  }

private:
  void visit(llvm::Instruction &instruction);
  /// Of a value of `type`.
  void add(llvm::Instruction &before, llvm::Value *address, llvm::Type *type,
           llvm::Align alignment, unsigned kind) {
    uint64_t bytes = module.getDataLayout().getTypeStoreSize(type);
    add(before, address, llvm::ConstantInt::get(i64, bytes), alignment, kind);
  }
  void add(llvm::Instruction &before, llvm::Value *address, llvm::Value *bytes,
           llvm::Align alignment, unsigned kind);

  llvm::Module &module;
  llvm::Type *pointer, *i64;
  llvm::FunctionCallee check;
};
} // namespace

void AccessChecker::add(llvm::Instruction &before, llvm::Value *address,
                        llvm::Value *bytes, llvm::Align alignment,
                        unsigned kind) {
  unsigned space = address->getType()->getPointerAddressSpace();
  if (space == localSpace ||
      llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address)))
    return;
  if (space == sharedSpace)
    kind |= isShared;
  llvm::IRBuilder<> builder(&before);
  builder.CreateCall(check, {builder.CreateAddrSpaceCast(address, pointer),
                             builder.CreateZExtOrTrunc(bytes, i64),
                             llvm::ConstantInt::get(i64, alignment.value()),
                             llvm::ConstantInt::get(i64, kind)});
}

void AccessChecker::visit(llvm::Instruction &instruction) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    add(*load, load->getPointerOperand(), load->getType(), load->getAlign(),
        (load->isAtomic() ? isAtomic : 0) |
            (readsConstant(*load) ? isConstant : 0));
  } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    add(*store, store->getPointerOperand(), store->getValueOperand()->getType(),
        store->getAlign(), writes | (store->isAtomic() ? isAtomic : 0));
  } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    add(*update, update->getPointerOperand(), update->getType(),
        update->getAlign(), writes | isAtomic);
  } else if (auto *swap =
                 llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    add(*swap, swap->getPointerOperand(), swap->getNewValOperand()->getType(),
        swap->getAlign(), writes | isAtomic);
  } else if (auto *set = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
    add(*set, set->getRawDest(), set->getLength(),
        set->getDestAlign().valueOrOne(), writes);
    if (auto *copy = llvm::dyn_cast<llvm::MemTransferInst>(set))
      add(*copy, copy->getRawSource(), copy->getLength(),
          copy->getSourceAlign().valueOrOne(), 0);
  }
}

void hone::checkAccesses(llvm::Module &module) {
  AccessChecker checker(module);
  for (llvm::Function &function : module)
    checker.run(function);
}
