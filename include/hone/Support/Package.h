//===- Package.h - Reading an exported package ------------------*- C++ -*-===//
//
// A package is a directory NAME.hone/ written by the Python front end:
// graph.mlir, manifest.json and, where the model needs them, safetensors files.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SUPPORT_PACKAGE_H
#define HONE_SUPPORT_PACKAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace hone {

/// Version of manifest.json that this compiler reads.
constexpr int64_t packageSchema = 2;

/// A package whose manifest was read.
struct Package {
  std::string path;        ///< of the directory, as the user wrote it
  std::string graphPath;   ///< of graph.mlir
  std::string model;       ///< name of the model
  std::string fingerprint; ///< SHA-256 of graph.mlir as the manifest has it, 64
                           ///< lower-case digits; parsePackage updates it
  std::string graph;       ///< text of graph.mlir
  std::string weights;     ///< absolute path of the weights that runs start
                           ///< from (model.safetensors), or empty
  std::string weightsId;   ///< tells that file from others: see abi.def
  std::string constants;   ///< absolute path of the values of buffers
                           ///< (consts.safetensors), or empty
  llvm::json::Value optimizer =
      nullptr; ///< as the manifest has it; may be null
};

/// One line of the manifest's argument table.
struct PackageArgument {
  std::string fqn;
  std::string kind;
  std::string dtype; ///< element type as MLIR spells it
  llvm::SmallVector<int64_t> shape;
};

/// Reads manifest.json and graph.mlir of the directory `path` and checks the
/// schema. The error names file, value seen and value expected.
llvm::Expected<Package>
readPackage(llvm::StringRef path,
            llvm::SmallVectorImpl<PackageArgument> &arguments);

/// Parses the graph of `package` and checks its @forward against the argument
/// table, and its optimizer against the manifest's. The bytes of buffers
/// initialised from a file (consts.safetensors) become the entry `data` of
/// their `hone.init`. Null after a diagnostic. A graph that was edited after
/// export is a warning and has its own fingerprint; one that a user has
/// annotated (it has a `dist.mesh`) keeps that of the export.
mlir::OwningOpRef<mlir::ModuleOp>
parsePackage(Package &package, llvm::ArrayRef<PackageArgument> arguments,
             mlir::MLIRContext *context);

/// The SHA-256 of `text` in lower-case digits: what a fingerprint is.
std::string sha256(llvm::StringRef text);

} // namespace hone

#endif // HONE_SUPPORT_PACKAGE_H
