//===- DeviceCode.cpp - Device code for the host --------------------------===//

#include "hone/Target/Emulation/DeviceCode.h"

#include "Accesses.h"
#include "Floats.h"
#include "Target/CPU/NarrowFloats.h"
#include "Target/GPU/Variables.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <set>

using namespace hone;

static llvm::Error refuse(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// The emulator's function for `llvm.nvvm.a.b`: `honemu_a_b`.
static std::string emulatedName(llvm::StringRef instruction) {
  std::string name = ("honemu_" + instruction.substr(10)).str();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

static bool isEmulated(const std::string &name) {
  static const std::set<std::string> names = {
#define HONEMU_INTRINSIC(result, name, parameters) #name,
#include "honert/emulator.def"
#undef HONEMU_INTRINSIC
  };
  return names.count(name) > 0;
}

/// Makes calls of the emulator from inline assembly of one instruction:
/// `honemu_cvt_a_b` of "cvt.a.b $0, $1;".
static llvm::Error replaceAssembly(llvm::Function &function) {
  for (llvm::Instruction &each :
       llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&each);
    if (!call || !call->isInlineAsm())
      continue;
    llvm::StringRef text =
        llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
    std::string name = ("honemu_" + text.split(' ').first).str();
    std::replace(name.begin(), name.end(), '.', '_');
    if (!isEmulated(name))
      return refuse("device code holds the assembly '" + text +
                    "', which the emulator does not know");
    call->setAttributes({});
    call->setCalledFunction(function.getParent()->getOrInsertFunction(
        name, call->getFunctionType()));
  }
  return llvm::Error::success();
}

/// Whether C has no one way to pass what the instruction takes and gives.
static bool needsWrapping(llvm::FunctionType *type) {
  return type->getReturnType()->isStructTy() ||
         llvm::any_of(type->params(), [](llvm::Type *operand) {
           return operand->isVectorTy();
         });
}

/// Makes a call of the emulator's function, which writes several results to
/// where its first operand points, and takes vectors as integers.
static void wrapCall(llvm::CallBase &call, llvm::StringRef name) {
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value *> operands;
  llvm::Type *made = call.getType();
  llvm::AllocaInst *results = nullptr;
  if (made->isStructTy()) {
    llvm::BasicBlock &entry = call.getFunction()->getEntryBlock();
    results = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(made);
    operands.push_back(results);
  }
  for (llvm::Value *operand : call.args()) {
    llvm::Type *type = operand->getType();
    if (type->isVectorTy())
      operand = builder.CreateBitCast(
          operand, builder.getIntNTy(type->getPrimitiveSizeInBits()));
    operands.push_back(operand);
  }
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = llvm::FunctionType::get(results ? builder.getVoidTy() : made,
                                       types, /*isVarArg=*/false);
  llvm::Value *result = builder.CreateCall(
      call.getModule()->getOrInsertFunction(name, type), operands);
  if (results)
    result = builder.CreateLoad(made, results);
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

/// Makes calls of the emulator from device instructions.
static llvm::Error replaceInstructions(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (llvm::Error error = replaceAssembly(function))
      return error;
  for (llvm::Function &instruction : llvm::make_early_inc_range(module)) {
    if (!instruction.getName().starts_with("llvm.nvvm."))
      continue;
    std::string name = emulatedName(instruction.getName());
    if (!instruction.use_empty() && !isEmulated(name))
      return refuse("device code holds '" + instruction.getName() +
                    "', which the emulator does not know");
    if (needsWrapping(instruction.getFunctionType())) {
      for (llvm::User *user : llvm::make_early_inc_range(instruction.users()))
        wrapCall(*llvm::cast<llvm::CallBase>(user), name);
    } else if (!instruction.use_empty()) {
      llvm::FunctionCallee function =
          module.getOrInsertFunction(name, instruction.getFunctionType());
      for (llvm::User *user : instruction.users())
        if (auto *call = llvm::dyn_cast<llvm::CallBase>(user))
          call->setAttributes({}); // they say that it has no effect
      instruction.replaceAllUsesWith(function.getCallee());
    }
    instruction.eraseFromParent();
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

constexpr uint64_t guardBytes = 64; // of nobody, behind each shared variable

namespace {
/// A variable of device code.
struct Variable {
  llvm::GlobalVariable *global;
  uint64_t bytes;
  llvm::SmallPtrSet<llvm::Function *, 4> users;
};

/// The tables that the emulator reads: `honemu_image` and what it points to.
class ImageBuilder {
public:
  ImageBuilder(llvm::Module &module, llvm::ArrayRef<DeviceKernel> kernels)
      : module(module), context(module.getContext()),
        pointer(llvm::PointerType::get(context, 0)),
        i64(llvm::Type::getInt64Ty(context)), kernels(kernels) {}

  void build();

private:
  void takeVariables();
  llvm::Function *makeThread(llvm::Function &kernel);
  llvm::Constant *makeSegments(llvm::ArrayRef<Variable> variables,
                               llvm::Function *user, int64_t &count);
  llvm::Constant *makeTable(llvm::StructType *type,
                            llvm::ArrayRef<llvm::Constant *> rows,
                            llvm::StringRef name);
  llvm::Constant *number(int64_t value) {
    return llvm::ConstantInt::getSigned(i64, value);
  }
  llvm::StructType *record(llvm::ArrayRef<llvm::Type *> fields) {
    return llvm::StructType::get(context, fields);
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::IntegerType *i64;
  llvm::ArrayRef<DeviceKernel> kernels;
  std::vector<Variable> shared, globals;
};
} // namespace

/// Finds what the emulator must know of, and makes shared variables memory of
/// the host, with a gap after each.
void ImageBuilder::takeVariables() {
  llvm::SmallVector<llvm::GlobalVariable *> all;
  for (llvm::GlobalVariable &global : module.globals())
    if (!global.isDeclaration() && !global.getName().starts_with("llvm."))
      all.push_back(&global);
  for (llvm::GlobalVariable *global : all) {
    Variable variable;
    variable.global = global;
    variable.bytes =
        module.getDataLayout().getTypeAllocSize(global->getValueType());
    if (global->getAddressSpace() != sharedSpace) {
      global->setLinkage(llvm::GlobalValue::InternalLinkage);
      globals.push_back(variable);
      continue;
    }
    collectUsers(global, variable.users);
    llvm::Type *gap =
        llvm::ArrayType::get(llvm::Type::getInt8Ty(context), guardBytes);
    llvm::StructType *type = record({global->getValueType(), gap});
    auto *memory = new llvm::GlobalVariable(
        module, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
        llvm::Constant::getNullValue(type), "", /*InsertBefore=*/nullptr,
        llvm::GlobalValue::NotThreadLocal, sharedSpace);
    memory->setAlignment(
        std::max(global->getAlign().valueOrOne(), llvm::Align(64)));
    memory->takeName(global);
    global->replaceAllUsesWith(memory);
    global->eraseFromParent();
    variable.global = memory;
    shared.push_back(variable);
  }
}

/// void thread(void **args): calls the kernel with what args[i] point to.
llvm::Function *ImageBuilder::makeThread(llvm::Function &kernel) {
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer}, /*isVarArg=*/false);
  auto *thread =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                             kernel.getName() + ".thread", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", thread));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &parameter : kernel.args()) {
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(
        pointer, thread->getArg(0), parameter.getArgNo());
    arguments.push_back(builder.CreateLoad(parameter.getType(),
                                           builder.CreateLoad(pointer, slot)));
  }
  builder.CreateCall(&kernel, arguments);
  builder.CreateRetVoid();
  return thread;
}

llvm::Constant *ImageBuilder::makeTable(llvm::StructType *type,
                                        llvm::ArrayRef<llvm::Constant *> rows,
                                        llvm::StringRef name) {
  auto *table =
      llvm::ConstantArray::get(llvm::ArrayType::get(type, rows.size()), rows);
  return new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::InternalLinkage, table,
                                  name);
}

/// `honemu_segment`s of the variables that `user` touches; null: of all.
llvm::Constant *ImageBuilder::makeSegments(llvm::ArrayRef<Variable> variables,
                                           llvm::Function *user,
                                           int64_t &count) {
  llvm::StructType *type = record({pointer, i64, i64});
  llvm::SmallVector<llvm::Constant *> rows;
  for (const Variable &variable : variables)
    if (!user || variable.users.contains(user))
      rows.push_back(llvm::ConstantStruct::get(
          type,
          {llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(variable.global,
                                                                pointer),
           number(variable.bytes), number(!variable.global->isConstant())}));
  count = rows.size();
  return makeTable(type, rows, "honemu_segments");
}

void ImageBuilder::build() {
  takeVariables();
  llvm::StructType *kernelType = record({pointer, pointer, i64, i64, pointer});
  llvm::SmallVector<llvm::Constant *> rows;
  llvm::IRBuilder<> builder(context);
  for (const DeviceKernel &kernel : kernels) {
    int64_t count = 0;
    llvm::Constant *segments = makeSegments(shared, kernel.function, count);
    auto *name = builder.CreateGlobalString(kernel.function->getName(),
                                            "honemu_name", 0, &module);
    rows.push_back(llvm::ConstantStruct::get(
        kernelType, {name, makeThread(*kernel.function),
                     number(kernel.maxThreads), number(count), segments}));
  }
  int64_t globalCount = 0;
  llvm::Constant *globalTable = makeSegments(globals, nullptr, globalCount);
  llvm::StructType *imageType = record({i64, pointer, i64, pointer});
  auto *image = llvm::ConstantStruct::get(
      imageType,
      {number(rows.size()), makeTable(kernelType, rows, "honemu_kernels"),
       number(globalCount), globalTable});
  new llvm::GlobalVariable(module, imageType, /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, image,
                           emulatedImageName);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Makes functions those of the host.
static void retarget(llvm::Module &module, const CpuTarget &cpu,
                     llvm::TargetMachine &machine) {
  if (auto *facts = module.getNamedMetadata("nvvm.annotations"))
    facts->eraseFromParent();
  module.setTargetTriple(cpu.triple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    // What was known of a kernel does not hold for its emulation, which calls
    // others and waits in them.
    function.setAttributes(
        function.getAttributes().removeFnAttributes(module.getContext()));
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", cpu.name);
    if (!cpu.features.empty())
      function.addFnAttr("target-features", cpu.features);
    function.setCallingConv(llvm::CallingConv::C);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

llvm::Expected<std::unique_ptr<llvm::Module>>
hone::emulateDevice(const llvm::Module &translated, const CpuTarget &cpu,
                    llvm::TargetMachine &machine,
                    const EmulationOptions &options) {
  std::unique_ptr<llvm::Module> module = llvm::CloneModule(translated);
  llvm::SmallVector<DeviceKernel> kernels = getKernels(*module);
  if (options.checksMemory)
    checkAccesses(*module);
  if (llvm::Error error = replaceInstructions(*module))
    return std::move(error);
  if (llvm::Error error = emulateBFloat(*module))
    return std::move(error);
  ImageBuilder(*module, kernels).build();
  retarget(*module, cpu, machine);
  lowerNarrowFloats(*module, machine);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream))
    return refuse("emulated device code is broken: " +
                  llvm::StringRef(message).split('\n').first);
  return module;
}
