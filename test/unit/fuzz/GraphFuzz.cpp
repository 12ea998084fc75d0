//===- GraphFuzz.cpp - Graphs as text -------------------------------------===//
//
// Seeds are the files given: each is parsed and verified, and so are the
// phases' own verifiers run over what the parser accepts.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/ParseFile.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

/// Nothing is known of a mutant's phase: each verifier may refuse it, and none
/// may crash.
static constexpr const char *verifiers[] = {
    "hone-verify-import",   "hone-verify-raise",
    "hone-verify-pad",      "hone-verify-precision",
    "hone-verify-gradient", "hone-verify-step",
    "dist-verify",          "func.func(hone-verify-groups)",
    "hone-verify-plan",     "hone-verify-lower",
    "hone-verify-llvm"};

std::vector<std::string> fuzzSeeds(const std::vector<std::string> &files) {
  hone::registerAllPasses();
  std::vector<std::string> seeds;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer) {
      hone::printError(file + ": cannot be read");
      std::exit(1);
    }
    // Tests of errors hold several graphs, some of them wrong.
    llvm::SmallVector<StringRef> parts;
    (*buffer)->getBuffer().split(parts, "// -----");
    for (StringRef part : parts) {
      auto *data = reinterpret_cast<const uint8_t *>(part.data());
      if (LLVMFuzzerTestOneInput(data, part.size()) == 0)
        seeds.push_back(part.str());
    }
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static DialectRegistry *registry = [] {
    auto *all = new DialectRegistry;
    hone::registerAllDialects(*all);
    return all;
  }();
  static uint64_t count = 0;
  static std::unique_ptr<MLIRContext> context;
  // A context keeps every attribute that it was ever given.
  if (count++ % 2000 == 0) {
    context = std::make_unique<MLIRContext>(*registry,
                                            MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }
  ScopedDiagnosticHandler silence(context.get(),
                                  [](Diagnostic &) { return success(); });
  StringRef text(reinterpret_cast<const char *>(data), size);
  auto module = hone::parseGraph(
      llvm::MemoryBuffer::getMemBufferCopy(text, "f"), context.get());
  if (!module)
    return -1;
  for (const char *verifier : verifiers) {
    PassManager manager(context.get(), ModuleOp::getOperationName());
    manager.enableVerifier(false);
    if (failed(parsePassPipeline(verifier, manager)))
      llvm::report_fatal_error("a verifier is missing");
    (void)manager.run(*module);
  }
  return 0;
}
