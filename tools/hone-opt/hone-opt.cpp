//===- hone-opt.cpp - Runs passes on hone graphs --------------------------===//

#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/ParseFile.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  mlir::DialectRegistry registry;
  hone::registerAllDialects(registry);
  hone::registerAllPasses();
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
