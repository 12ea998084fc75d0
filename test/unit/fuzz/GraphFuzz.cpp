//===- GraphFuzz.cpp - Graphs as text -------------------------------------===//
//
// Seeds are the files given: each is parsed and verified, and so are the
// phases' own verifiers run over what the parser accepts.
//
// Left out: values that are used before their definition. MLIR 19 resolves
// such a name by a definition in any later region, also of another function,
// and frees that definition while it is used if the region is then refused
// (llvm/llvm-project#107121): the heap is damaged after the error is printed.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/ParseFile.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cstdio>
#include <cstdlib>

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

//===----------------------------------------------------------------------===//
// Values used before their definition
//===----------------------------------------------------------------------===//

/// Whether the name between `lineBefore` and `after` is defined there: as an
/// argument, `%x: type` or `%x = %y`, or in a line's list of results.
static bool isDefinition(StringRef lineBefore, StringRef after) {
  if (after.starts_with(":")) // A use has a space between.
    return true;
  after = after.ltrim();
  bool isResult = llvm::all_of(lineBefore, [](char c) {
    return llvm::isAlnum(c) || llvm::isSpace(c) ||
           StringRef("_%,:").contains(c);
  });
  return after.starts_with("=") || (isResult && after.starts_with(","));
}

/// By the look of the text alone, which may be no MLIR at all.
static bool usesBeforeDefinition(StringRef text) {
  SmallVector<llvm::StringSet<>> scopes(1);
  size_t lineStart = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    StringRef rest = text.drop_front(at);
    if (rest.starts_with("//"))
      at = std::min(text.find('\n', at), text.size() - 1);
    if (text[at] == '\n')
      lineStart = at + 1;
    else if (text[at] == '{')
      scopes.emplace_back();
    else if (text[at] == '}' && scopes.size() > 1)
      scopes.pop_back();
    else if (rest.starts_with("func.func"))
      scopes.assign(1, {});
    if (text[at] != '%')
      continue;
    StringRef name = rest.drop_front().take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (isDefinition(text.slice(lineStart, at),
                     rest.drop_front(1 + name.size())))
      scopes.back().insert(name);
    else if (llvm::none_of(scopes, [&](auto &s) { return s.contains(name); }))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The fuzzer's two functions
//===----------------------------------------------------------------------===//

static uint64_t leftOut = 0;

std::vector<std::string> fuzzSeeds(const std::vector<std::string> &files) {
  hone::registerAllPasses();
  std::atexit([] {
    std::printf("%llu used values before their definition\n",
                static_cast<unsigned long long>(leftOut));
  });
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
  if (usesBeforeDefinition(view(data, size))) {
    ++leftOut;
    return -1;
  }
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
