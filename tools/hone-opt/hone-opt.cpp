//===- hone-opt.cpp - Runs passes on hone graphs --------------------------===//

#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/ParseFile.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

/// LLVM reads an unknown `--hone-x` as `-h` with letters after it: it would
/// print its help and succeed.
static bool knowsPasses(llvm::ArrayRef<char *> words) {
  for (llvm::StringRef word : words) {
    llvm::StringRef name = word.ltrim('-').split('=').first;
    if (!word.starts_with("-") || !name.starts_with("hone-") ||
        mlir::PassInfo::lookup(name) || mlir::PassPipelineInfo::lookup(name))
      continue;
    hone::printError("--" + name + ": is no pass or pipeline, see --help");
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  mlir::DialectRegistry registry;
  hone::registerAllDialects(registry);
  hone::registerAllPasses();
  if (!knowsPasses({argv + 1, argv + argc}))
    return 2;
  auto [inputPath, outputPath] = mlir::registerAndParseCLIOptions(
      argc, argv, "Hone: passes on training graphs\n", registry);

  std::string message;
  auto input = mlir::openInputFile(inputPath, &message);
  if (!input) {
    hone::printError(message);
    return 1;
  }
  if (llvm::Error error = hone::checkNesting(*input)) {
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
