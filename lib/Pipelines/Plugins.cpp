//===- Plugins.cpp - Passes and dialects from shared libraries ------------===//

#include "hone/Pipelines/Plugins.h"

#include "hone/IR/DialectMarker.h"
#include "hone/Pipelines/PluginVersion.h"
#include "hone/Support/ParseFile.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/BinaryFormat/ELF.h"

#include <dlfcn.h>

using namespace hone;
using llvm::Error;
using llvm::StringRef;

/// With a copy of the dialect in a plugin every type and op exists twice: what
/// is parsed here is none of the plugin's, and its passes do nothing. Compiled
/// code of the dialect has a marker (IR/HoneDialect.cpp).
static Error checkOneDialect(StringRef path, StringRef bytes) {
  if (!bytes.contains(dialectMarker()))
    return Error::success();
  return makeError(path + ": has a copy of the hone dialect of its own, "
                          "expected none: link it without libHoneIR.a, "
                          "the tool that loads it brings the dialect");
}

/// Members and methods may lie elsewhere in other headers: calls would go wrong
/// without an error. cmake/PluginVersion.cpp is in each plugin.
static Error checkVersion(StringRef path, StringRef bytes) {
  size_t marker = bytes.find(HONE_PLUGIN_MARKER);
  if (marker == StringRef::npos)
    return makeError(path + ": does not say which Hone it was built for, "
                            "expected " HONE_PLUGIN_VERSION ": build it with "
                            "hone_add_pass_plugin of find_package(Hone)");
  StringRef version = bytes.drop_front(marker + strlen(HONE_PLUGIN_MARKER));
  version = version.take_until([](char letter) { return letter == 0; });
  if (version == HONE_PLUGIN_VERSION)
    return Error::success();
  return makeError(path + ": was built for Hone " + version +
                   ", this is " HONE_PLUGIN_VERSION ": build it again");
}

/// None of its code runs before these checks.
static Error checkFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  // The loader says what else is wrong.
  if (!file || !(*file)->getBuffer().starts_with(llvm::ELF::ElfMagic))
    return Error::success();
  if (Error error = checkOneDialect(path, (*file)->getBuffer()))
    return error;
  return checkVersion(path, (*file)->getBuffer());
}

/// Opens `path` with all its symbols, so that a missing one is an error here
/// and not the end of the process when it is first called.
static Error open(const std::string &path) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return Error::success();
  StringRef said = dlerror();
  // "PATH: what", mostly.
  said.consume_front(path + ": ");
  return makeError(path + ": cannot be loaded: " + said);
}

/// Loads the plugin of class `Plugin` in `path`, and hands it to `use`.
template <typename Plugin, typename Use>
static Error load(StringRef path, Use use) {
  // Without a slash the loader searches its own folders only, where nothing is
  // checked.
  std::string file = path.contains('/') ? path.str() : "./" + path.str();
  if (Error error = checkFile(file))
    return error;
  if (Error error = open(file))
    return error;
  llvm::Expected<Plugin> plugin = Plugin::load(file);
  if (!plugin)
    return makeError(file +
                     ": is no plugin: " + llvm::toString(plugin.takeError()));
  use(*plugin);
  return Error::success();
}

Error hone::loadPassPlugin(StringRef path) {
  return load<mlir::PassPlugin>(path, [](const mlir::PassPlugin &plugin) {
    plugin.registerPassRegistryCallbacks();
  });
}

Error hone::loadDialectPlugin(StringRef path, mlir::DialectRegistry &registry) {
  return load<mlir::DialectPlugin>(
      path, [&](const mlir::DialectPlugin &plugin) {
        plugin.registerDialectRegistryCallbacks(registry);
      });
}
