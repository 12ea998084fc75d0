//===- NarrowFloats.cpp - bf16 and f16 in LLVM IR -------------------------===//

#include "NarrowFloats.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/MC/MCSubtargetInfo.h"

using namespace hone;

/// What VCVTNEPS2BF16 computes: to nearest even, subnormals as zero, NaN quiet.
static llvm::Value *roundToBFloat(llvm::IRBuilder<> &builder,
                                  llvm::Value *value, llvm::Type *type) {
  llvm::Type *i32 = value->getType()->getWithNewType(builder.getInt32Ty());
  auto number = [&](uint32_t bits) {
    return llvm::ConstantInt::get(i32, bits);
  };
  llvm::Value *bits = builder.CreateBitCast(value, i32);
  llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value *rounded =
      builder.CreateAdd(bits, builder.CreateAdd(odd, number(0x7fff)));
  llvm::Value *magnitude = builder.CreateAnd(bits, number(0x7fffffff));
  llvm::Value *isSmall = builder.CreateICmpULT(magnitude, number(0x00800000));
  llvm::Value *isNaN = builder.CreateICmpUGT(magnitude, number(0x7f800000));
  llvm::Value *zero = builder.CreateAnd(bits, number(0x80000000));
  llvm::Value *quiet = builder.CreateOr(bits, number(0x00400000));
  rounded = builder.CreateSelect(isSmall, zero, rounded);
  rounded = builder.CreateSelect(isNaN, quiet, rounded);
  rounded = builder.CreateTrunc(builder.CreateLShr(rounded, 16),
                                i32->getWithNewType(builder.getInt16Ty()));
  return builder.CreateBitCast(rounded, type);
}

static bool isNarrow(const llvm::Value *value) {
  llvm::Type *element = value->getType()->getScalarType();
  return element->isBFloatTy() || element->isHalfTy();
}

static llvm::Value *toIntegers(llvm::IRBuilder<> &builder, llvm::Value *value) {
  return builder.CreateBitCast(
      value, value->getType()->getWithNewType(builder.getInt16Ty()));
}

/// Gives the instruction a result of integers; before `next`, it is cast for
/// those that read it.
static void makeInteger(llvm::Instruction &instruction,
                        llvm::Instruction &next) {
  llvm::Type *type = instruction.getType();
  llvm::SmallVector<llvm::Use *> uses;
  for (llvm::Use &use : instruction.uses())
    uses.push_back(&use);
  llvm::IRBuilder<> builder(&next);
  instruction.mutateType(type->getWithNewType(builder.getInt16Ty()));
  llvm::Value *narrow = builder.CreateBitCast(&instruction, type);
  for (llvm::Use *use : uses)
    use->set(narrow);
}

/// Loads and stores bf16 and f16 as integers: where a CPU has no registers for
/// them, LLVM takes vectors that pass from block to block apart, and single
/// elements by way of f32.
static void accessAsIntegers(llvm::Module &module) {
  llvm::SmallVector<llvm::LoadInst *> loads;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store && isNarrow(store->getValueOperand())) {
        llvm::IRBuilder<> builder(store);
        store->setOperand(0, toIntegers(builder, store->getValueOperand()));
      }
      auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load && isNarrow(load))
        loads.push_back(load);
    }
  for (llvm::LoadInst *load : loads)
    makeInteger(*load, *load->getNextNode());
}

/// Whether the instruction only moves elements.
static bool onlyMoves(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::InsertElementInst,
                   llvm::ExtractElementInst, llvm::ShuffleVectorInst,
                   llvm::FreezeInst>(instruction);
}

/// Makes what only moves elements of bf16 and f16 move integers.
static void moveValuesAsIntegers(llvm::Module &module) {
  llvm::SmallVector<llvm::Instruction *> moves;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (onlyMoves(instruction) && isNarrow(&instruction))
        moves.push_back(&instruction);
  for (llvm::Instruction *move : moves) {
    auto *phi = llvm::dyn_cast<llvm::PHINode>(move);
    for (llvm::Use &use : move->operands()) {
      if (!isNarrow(use.get()))
        continue;
      llvm::IRBuilder<> builder(
          phi ? phi->getIncomingBlock(use)->getTerminator() : move);
      use.set(toIntegers(builder, use.get()));
    }
    makeInteger(*move, phi ? *move->getParent()->getFirstInsertionPt()
                           : *move->getNextNode());
  }
}

/// Removes casts to bf16 or f16 that are cast back.
static void foldCasts(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *back = llvm::dyn_cast<llvm::BitCastInst>(&instruction);
      auto *cast = back ? llvm::dyn_cast<llvm::BitCastInst>(back->getOperand(0))
                        : nullptr;
      if (!cast || cast->getSrcTy() != back->getDestTy() || !isNarrow(cast))
        continue;
      back->replaceAllUsesWith(cast->getOperand(0));
      back->eraseFromParent();
      if (cast->use_empty())
        cast->eraseFromParent();
    }
}

/// Moves elements of bf16 and f16 under a mask as integers: where a CPU has no
/// such move, LLVM takes them one by one, and single ones by way of f32.
static void moveAsIntegers(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> moves;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *move = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
        bool isLoad = move->getIntrinsicID() == llvm::Intrinsic::masked_load;
        bool isStore = move->getIntrinsicID() == llvm::Intrinsic::masked_store;
        if ((isLoad && isNarrow(move)) ||
            (isStore && isNarrow(move->getArgOperand(0))))
          moves.push_back(move);
      }
  for (llvm::IntrinsicInst *move : moves) {
    llvm::IRBuilder<> builder(move);
    auto alignment = [&](unsigned operand) {
      return llvm::cast<llvm::ConstantInt>(move->getArgOperand(operand))
          ->getAlignValue();
    };
    if (move->getIntrinsicID() == llvm::Intrinsic::masked_load) {
      llvm::Value *other = toIntegers(builder, move->getArgOperand(3));
      llvm::Value *loaded =
          builder.CreateMaskedLoad(other->getType(), move->getArgOperand(0),
                                   alignment(1), move->getArgOperand(2), other);
      move->replaceAllUsesWith(builder.CreateBitCast(loaded, move->getType()));
    } else {
      builder.CreateMaskedStore(toIntegers(builder, move->getArgOperand(0)),
                                move->getArgOperand(1), alignment(2),
                                move->getArgOperand(3));
    }
    move->eraseFromParent();
  }
}

/// What VDPBF16PS computes: of each pair of bf16 first the odd product is
/// added, then the even one.
static llvm::Value *dotPairs(llvm::IRBuilder<> &builder,
                             llvm::IntrinsicInst *dot) {
  llvm::Value *sum = dot->getArgOperand(0);
  llvm::Type *type = sum->getType();
  llvm::Type *i32 = type->getWithNewType(builder.getInt32Ty());
  llvm::Value *left = builder.CreateBitCast(dot->getArgOperand(1), i32);
  llvm::Value *right = builder.CreateBitCast(dot->getArgOperand(2), i32);
  auto odd = [&](llvm::Value *pairs) {
    return builder.CreateBitCast(builder.CreateAnd(pairs, 0xffff0000), type);
  };
  auto even = [&](llvm::Value *pairs) {
    return builder.CreateBitCast(builder.CreateShl(pairs, 16), type);
  };
  for (auto half : {llvm::function_ref<llvm::Value *(llvm::Value *)>(odd),
                    llvm::function_ref<llvm::Value *(llvm::Value *)>(even)})
    sum = builder.CreateIntrinsic(type, llvm::Intrinsic::fma,
                                  {half(left), half(right), sum});
  return sum;
}

/// The f32 with the upper half of the bits, or that as f64: exact.
static llvm::Value *widenBFloat(llvm::IRBuilder<> &builder, llvm::Value *value,
                                llvm::Type *type) {
  llvm::Value *bits =
      builder.CreateBitCast(value, type->getWithNewType(builder.getInt16Ty()));
  bits = builder.CreateZExt(bits, type->getWithNewType(builder.getInt32Ty()));
  llvm::Value *single = builder.CreateBitCast(
      builder.CreateShl(bits, 16), type->getWithNewType(builder.getFloatTy()));
  return type == single->getType() ? single : builder.CreateFPExt(single, type);
}

namespace {
/// The arithmetic of bf16 in a module.
struct BFloatOps {
  explicit BFloatOps(llvm::Module &module);

  llvm::SmallVector<llvm::CastInst *> roundings, widenings;
  llvm::SmallVector<llvm::IntrinsicInst *> dots;
};
} // namespace

BFloatOps::BFloatOps(llvm::Module &module) {
  auto isBFloat = [](llvm::Type *type) {
    return type->getScalarType()->isBFloatTy();
  };
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      if (auto *rounding = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
          rounding && isBFloat(rounding->getType()))
        roundings.push_back(rounding);
      if (auto *widening = llvm::dyn_cast<llvm::FPExtInst>(&instruction);
          widening && isBFloat(widening->getSrcTy()))
        widenings.push_back(widening);
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() ==
                      llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512)
        dots.push_back(call);
    }
}

/// Replaces arithmetic of bf16 where the CPU has no instruction for it: LLVM
/// would call a library per element, and does not know the products.
static void expandBFloat(llvm::Module &module,
                         const llvm::TargetMachine &machine) {
  bool hasUnits = machine.getMCSubtargetInfo()->checkFeatures("+avx512bf16");
  BFloatOps ops(module);
  auto replace = [](llvm::Instruction *old, llvm::Value *value) {
    old->replaceAllUsesWith(value);
    old->eraseFromParent();
  };
  for (llvm::CastInst *rounding : ops.roundings) {
    llvm::IRBuilder<> builder(rounding);
    llvm::Value *value = rounding->getOperand(0);
    auto *widening = llvm::dyn_cast<llvm::FPExtInst>(value);
    if (widening && widening->getSrcTy() == rounding->getType())
      replace(rounding, widening->getOperand(0)); // rounded before
    else if (!hasUnits)
      replace(rounding, roundToBFloat(builder, value, rounding->getType()));
  }
  for (llvm::CastInst *widening : ops.widenings) {
    llvm::IRBuilder<> builder(widening);
    replace(widening,
            widenBFloat(builder, widening->getOperand(0), widening->getType()));
  }
  if (hasUnits)
    return;
  for (llvm::IntrinsicInst *dot : ops.dots) {
    llvm::IRBuilder<> builder(dot);
    replace(dot, dotPairs(builder, dot));
  }
}

void hone::lowerNarrowFloats(llvm::Module &module,
                             const llvm::TargetMachine &machine) {
  accessAsIntegers(module);
  moveAsIntegers(module);
  expandBFloat(module, machine);
  if (!machine.getMCSubtargetInfo()->checkFeatures("+avx512bf16"))
    moveValuesAsIntegers(module);
  foldCasts(module);
}
