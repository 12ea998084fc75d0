//===- UnusedTargets.cpp - What lld would link and honec never runs -------===//
//
// Before lld reads a file it prepares every target of LLVM for link-time
// optimization, which also asks for Polly. honec links machine code alone.
// These definitions stand in for the targets that it does not compile for, 60
// MB of a static executable. HONE_UNUSED_TARGETS: TARGET(AMDGPU) ...
//
//===----------------------------------------------------------------------===//

#include "llvm/Passes/PassPlugin.h"

#define TARGET(name)                                                           \
  extern "C" void LLVMInitialize##name##TargetInfo() {}                        \
  extern "C" void LLVMInitialize##name##Target() {}                            \
  extern "C" void LLVMInitialize##name##TargetMC() {}                          \
  extern "C" void LLVMInitialize##name##AsmPrinter() {}                        \
  extern "C" void LLVMInitialize##name##AsmParser() {}
HONE_UNUSED_TARGETS
#undef TARGET

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder &) {}};
}
