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
static constexpr const char *verifierNames[] = {
    "hone-verify-import",   "hone-verify-raise",
    "hone-verify-pad",      "hone-verify-precision",
    "hone-verify-gradient", "hone-verify-step",
    "dist-verify",          "func.func(hone-verify-groups)",
    "hone-verify-plan",     "hone-verify-lower",
    "hone-verify-llvm"};

/// What is larger makes the mutants few.
static constexpr size_t mostBytes = 16 << 10;

namespace {
/// A context, and the verifiers that run in it.
struct Verifiers {
  explicit Verifiers(const DialectRegistry &registry)
      : context(registry, MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([](Diagnostic &) {});
    for (const char *verifier : verifierNames) {
      managers.push_back(std::make_unique<PassManager>(
          &context, ModuleOp::getOperationName()));
      managers.back()->enableVerifier(false);
      if (failed(parsePassPipeline(verifier, *managers.back())))
        llvm::report_fatal_error("a verifier is missing");
    }
  }

  MLIRContext context;
  std::vector<std::unique_ptr<PassManager>> managers;
};
} // namespace

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
      if (part.size() <= mostBytes &&
          LLVMFuzzerTestOneInput(data, part.size()) == 0)
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
  static std::unique_ptr<Verifiers> verifiers;
  // A context keeps every attribute that it was ever given.
  if (count++ % 2000 == 0)
    verifiers = std::make_unique<Verifiers>(*registry);
  auto module = hone::parseGraph(
      llvm::MemoryBuffer::getMemBufferCopy(view(data, size), "f"),
      &verifiers->context);
  if (!module)
    return -1;
  for (auto &manager : verifiers->managers)
    (void)manager->run(*module);
  return 0;
}
