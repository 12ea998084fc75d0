//===- hone-lsp-server.cpp - Language server for hone graphs --------------===//

#include "Tools.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/HelpOptions.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int hone::honeLspServerMain(int argc, char **argv) {
  hideOptionsOfLLVM();
  mlir::DialectRegistry registry;
  hone::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
