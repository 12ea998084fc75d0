//===- Floats.cpp - bf16 as a GPU computes it -----------------------------===//

#include "Floats.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/FormatVariadic.h"

using namespace hone;

/// cvt.rn.bf16.f32: to nearest even; any NaN becomes the one with all bits.
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
  llvm::Value *isNaN = builder.CreateICmpUGT(magnitude, number(0x7f800000));
  rounded = builder.CreateSelect(isNaN, number(0x7fff0000), rounded);
  rounded = builder.CreateTrunc(builder.CreateLShr(rounded, 16),
                                i32->getWithNewType(builder.getInt16Ty()));
  return builder.CreateBitCast(rounded, type);
}

/// f64 to f32 such that a second rounding is as good as one: inexact results
/// get an odd last bit (Boldo and Melquiond, 2008).
static llvm::Value *roundToOdd(llvm::IRBuilder<> &builder, llvm::Value *value,
                               llvm::Type *single) {
  llvm::Type *i32 = single->getWithNewType(builder.getInt32Ty());
  llvm::Value *nearest = builder.CreateFPTrunc(value, single);
  llvm::Value *back = builder.CreateFPExt(nearest, value->getType());
  auto magnitude = [&](llvm::Value *x) {
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  };
  // Toward zero first: one step back where rounding went away from it.
  llvm::Value *isAway =
      builder.CreateFCmpOGT(magnitude(back), magnitude(value));
  llvm::Value *bits = builder.CreateBitCast(nearest, i32);
  llvm::Value *one = llvm::ConstantInt::get(i32, 1);
  llvm::Value *truncated =
      builder.CreateSelect(isAway, builder.CreateSub(bits, one), bits);
  llvm::Value *isInexact = builder.CreateFCmpONE(back, value);
  llvm::Value *odd =
      builder.CreateSelect(isInexact, builder.CreateOr(truncated, one), bits);
  return builder.CreateBitCast(odd, single);
}

static bool isBFloat(llvm::Type *type) {
  return type->getScalarType()->isBFloatTy();
}

/// Whether the instruction takes bits as they are.
static bool onlyMoves(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::LoadInst, llvm::PHINode, llvm::SelectInst,
                   llvm::BitCastInst, llvm::InsertElementInst,
                   llvm::ExtractElementInst, llvm::ShuffleVectorInst,
                   llvm::ExtractValueInst, llvm::FreezeInst>(instruction);
}

/// Whether f32 and one rounding give the function of bf16.
static bool isExactInF32(llvm::Intrinsic::ID function) {
  return function == llvm::Intrinsic::fabs ||
         function == llvm::Intrinsic::copysign ||
         function == llvm::Intrinsic::maximum ||
         function == llvm::Intrinsic::minimum ||
         function == llvm::Intrinsic::maxnum ||
         function == llvm::Intrinsic::minnum;
}

/// What replaces an instruction with a result of bf16; null: nothing can.
static llvm::Value *rewrite(llvm::Instruction &instruction) {
  llvm::IRBuilder<> builder(&instruction);
  llvm::Type *type = instruction.getType();
  llvm::Type *wide = type->getWithNewType(builder.getFloatTy());
  auto widen = [&](llvm::Value *value) {
    return builder.CreateFPExt(value, wide);
  };
  llvm::Value *result = nullptr;
  if (llvm::isa<llvm::FPTruncInst>(instruction)) {
    if (instruction.getOperand(0)->getType() != wide)
      return nullptr;
    result = instruction.getOperand(0);
  } else if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(instruction)) {
    // Of more than 53 bits, which no tensor of this size counts, an f64 rounds.
    auto &conversion = llvm::cast<llvm::CastInst>(instruction);
    llvm::Type *f64 = type->getWithNewType(builder.getDoubleTy());
    llvm::Value *number = builder.CreateCast(conversion.getOpcode(),
                                             conversion.getOperand(0), f64);
    result = roundToOdd(builder, number, wide);
  } else if (auto *binary =
                 llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    // 24 bits are enough for one rounding to 8 to be right.
    if (binary->getOpcode() == llvm::Instruction::FRem)
      return nullptr;
    result =
        builder.CreateBinOp(binary->getOpcode(), widen(binary->getOperand(0)),
                            widen(binary->getOperand(1)));
  } else if (llvm::isa<llvm::UnaryOperator>(instruction)) {
    result = builder.CreateFNeg(widen(instruction.getOperand(0)));
  } else if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
             call && isExactInF32(call->getIntrinsicID())) {
    llvm::SmallVector<llvm::Value *> operands;
    for (llvm::Value *operand : call->args())
      operands.push_back(widen(operand));
    result = builder.CreateIntrinsic(wide, call->getIntrinsicID(), operands);
  } else {
    return nullptr;
  }
  return roundToBFloat(builder, result, type);
}

llvm::Error hone::emulateBFloat(llvm::Module &module) {
  llvm::SmallVector<llvm::Instruction *> makers;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isBFloat(instruction.getType()) && !onlyMoves(instruction))
        makers.push_back(&instruction);
  for (llvm::Instruction *maker : makers) {
    llvm::Value *value = rewrite(*maker);
    if (!value)
      return llvm::createStringError(
          llvm::inconvertibleErrorCode(),
          llvm::formatv("device code makes bf16 by '{0}', which the emulator "
                        "does not know",
                        maker->getOpcodeName())
              .str());
    maker->replaceAllUsesWith(value);
    maker->eraseFromParent();
  }
  return llvm::Error::success();
}
