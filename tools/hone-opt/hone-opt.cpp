//===- hone-opt.cpp - Runs passes on hone graphs --------------------------===//

#include "Plugins.h"
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
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return 1;
  output->keep();
  return 0;
}
