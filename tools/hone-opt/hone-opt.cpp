//===- hone-opt.cpp - Runs passes on hone graphs --------------------------===//

#include "Plugins.h"
#include "Short.h"
#include "Tools.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/HelpOptions.h"
#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

/// LLVM reads an unknown `--hone-x` as `-h` with letters after it: it would
/// print its help and succeed.
static bool knowsPasses(llvm::ArrayRef<char *> words) {
  const llvm::StringMap<llvm::cl::Option *> &known =
      llvm::cl::getRegisteredOptions();
  for (llvm::StringRef word : words) {
    llvm::StringRef name = word.ltrim('-').split('=').first;
    if (!word.starts_with("-") || !name.starts_with("hone-") ||
        known.contains(name))
      continue;
    auto names = llvm::to_vector(known.keys());
    llvm::sort(names);
    llvm::StringRef nearest = hone::nearestName(name, names);
    hone::printError(
        "--" + name + ": is no pass or pipeline, see --help" +
        (nearest.empty() ? "" : "; did you mean --" + nearest.str() + "?"));
    return false;
  }
  return true;
}

/// Runs the passes of the command line and prints what they make.
static llvm::LogicalResult run(llvm::raw_ostream &out,
                               std::unique_ptr<llvm::MemoryBuffer> input,
                               mlir::DialectRegistry &registry,
                               const mlir::MlirOptMainConfig &config,
                               bool isShort) {
  if (!isShort)
    return mlir::MlirOptMain(out, std::move(input), registry, config);
  mlir::MlirOptMainConfig shortened = config;
  shortened.setPassPipelineSetupFn([&](mlir::PassManager &passes) {
    if (failed(config.setupPassPipeline(passes)))
      return llvm::failure();
    passes.addPass(hone::createShortenPass());
    return llvm::success();
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(mlir::MlirOptMain(stream, std::move(input), registry, shortened)))
    return llvm::failure();
  out << hone::breakSignatures(text);
  return llvm::success();
}

int hone::honeOptMain(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  hone::hideOptionsOfLLVM();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << "hone-opt " HONE_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  mlir::DialectRegistry registry;
  hone::registerAllDialects(registry);
  hone::registerAllPasses();
  llvm::SmallVector<char *> words(argv, argv + argc);
  if (llvm::Error error = hone::loadPlugins(words, registry)) {
    hone::printError(std::move(error));
    return 1;
  }
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  static llvm::cl::opt<bool> isShort(
      "short",
      llvm::cl::desc("Print text for reading: one argument per line, without "
                     "initial values, optimizer and what is at its default"));
  if (!knowsPasses(llvm::ArrayRef(words).drop_front()))
    return 2;
  auto [inputPath, outputPath] = mlir::registerAndParseCLIOptions(
      int(words.size()), words.data(), "Hone: passes on training graphs\n",
      registry);

  std::string message;
  auto input = mlir::openInputFile(inputPath, &message);
  if (!input) {
    hone::printError(message);
    return 1;
  }
  if (llvm::Error error = hone::checkText(*input)) {
    hone::printError(std::move(error));
    return 1;
  }
  auto output = mlir::openOutputFile(outputPath, &message);
  if (!output) {
    hone::printError(message);
    return 1;
  }
  const auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (isShort && config.shouldEmitBytecode()) {
    hone::printError("--short: is text for reading, expected no "
                     "--emit-bytecode beside it");
    return 2;
  }
  if (failed(run(output->os(), std::move(input), registry, config, isShort)))
    return 1;
  output->keep();
  return 0;
}
