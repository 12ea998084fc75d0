//===- ReadModule.cpp - The module that a compilation begins with ---------===//

#include "Compilation.h"
#include "ModuleText.h"
#include "hone/Support/Package.h"

#include "llvm/Support/FileSystem.h"

using namespace hone;
using namespace hone::driver;
using llvm::Error;
using llvm::StringRef;

Error Compilation::parsePackage() {
  if (llvm::sys::fs::is_regular_file(options.package))
    return makeError(input + ": is not a directory, expected a package; text "
                             "of a module needs --from=PHASE");
  llvm::SmallVector<PackageArgument> arguments;
  llvm::Expected<Package> package = readPackage(options.package, arguments);
  if (!package)
    return package.takeError();
  OneLineDiagnostics diagnostics(&context, package->graphPath);
  module = hone::parsePackage(*package, arguments, &context);
  if (!module)
    return diagnostics.failed()
               ? alreadyPrinted()
               : makeError(package->graphPath + ": cannot be parsed");
  notePackage(*module, *package);
  (*module)->setAttr("hone.fingerprint",
                     mlir::StringAttr::get(&context, package->fingerprint));
  return Error::success();
}

/// Phases before have chosen by the target that the text names.
Error Compilation::checkTextTarget() const {
  auto seen = (*module)->getAttrOfType<mlir::StringAttr>(attr::target);
  if (!seen || seen == target())
    return Error::success();
  auto [name, arch] = seen.getValue().split(' ');
  return makeError(input + ": is for '" + seen.getValue() + "', not '" +
                   target() + "', expected --target=" + name +
                   (arch.empty() ? "" : " --arch=" + arch.str()));
}

Error Compilation::parseText() {
  if (llvm::sys::fs::is_directory(options.package))
    return makeError(input + ": is a directory, expected text of a module "
                             "with --from; a package takes none");
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(options.package);
  if (!text)
    return makeError(input + ": cannot be read: " + text.getError().message());
  // What was compiled, whoever has changed it on the way.
  std::string fingerprint = sha256((*text)->getBuffer());
  OneLineDiagnostics diagnostics(&context, input);
  module = parseGraph(std::move(*text), &context);
  if (!module)
    return diagnostics.failed() ? alreadyPrinted()
                                : makeError(input + ": cannot be parsed");
  if (Error error = checkTextTarget())
    return error;
  llvm::SmallVector<PackageArgument> arguments;
  if (options.textPackage == "none") {
    notePackage(*module, Package());
  } else if (!options.textPackage.empty()) {
    llvm::Expected<Package> package =
        readPackage(options.textPackage, arguments);
    if (!package)
      return package.takeError();
    notePackage(*module, *package);
  } else if (!(*module)->hasAttr("hone.package")) {
    // Without it the weights of the package would be left out silently.
    return makeError(input + ": names no package, expected "
                             "--package=DIR.hone, or --package=none");
  }
  (*module)->setAttr("hone.fingerprint",
                     mlir::StringAttr::get(&context, fingerprint));
  if (Error error = restoreConstants(*module))
    return makeError(input + ": " + llvm::toString(std::move(error)));
  Phase from = phaseOf(options.pipeline.from);
  if (from == Phase::Import)
    return Error::success();
  Phase before = Phase(int(from) - 1);
  return runPasses(nameOf(before), [&](mlir::PassManager &manager) {
    buildBorder(before, manager);
  });
}

Error Compilation::readModule() {
  if (Error error = options.readsText ? parseText() : parsePackage())
    return error;
  // What the binary says about itself (--info).
  mlir::Builder builder(&context);
  (*module)->setAttr(attr::target, builder.getStringAttr(target()));
  if (!options.device.empty()) // text may name one from before
    (*module)->setAttr(deviceAttr, builder.getStringAttr(options.device));
  (*module)->setAttr("hone.compiler",
                     builder.getStringAttr("honec " HONE_VERSION));
  timer.lap("read");
  return Error::success();
}
