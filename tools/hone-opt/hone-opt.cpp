//===- hone-opt.cpp - Runs passes on hone graphs --------------------------===//

#include "hone/Transforms/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<hone::HoneDialect, hone::plan::PlanDialect,
                  mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  hone::registerHonePasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Hone: passes on training graphs\n", registry));
}
