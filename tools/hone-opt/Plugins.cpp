//===- Plugins.cpp - Plugins that the command line names ------------------===//

#include "Plugins.h"

#include "hone/Pipelines/Plugins.h"
#include "hone/Support/ParseFile.h"

using namespace hone;
using llvm::Error;
using llvm::StringRef;

Error hone::loadPlugins(llvm::SmallVectorImpl<char *> &words,
                        mlir::DialectRegistry &registry) {
  llvm::SmallVector<char *> kept;
  for (size_t index = 0; index < words.size(); ++index) {
    auto [flag, path] = StringRef(words[index]).split('=');
    StringRef name = flag.starts_with("-") ? flag.ltrim('-') : "";
    bool isPass = name == "load-pass-plugin";
    if (index == 0 || (!isPass && name != "load-dialect-plugin")) {
      kept.push_back(words[index]);
      continue;
    }
    if (path.empty()) {
      if (index + 1 == words.size())
        return makeError(flag + ": no value, expected a shared library");
      path = words[++index];
    }
    Error error =
        isPass ? loadPassPlugin(path) : loadDialectPlugin(path, registry);
    if (error)
      return error;
  }
  words = std::move(kept);
  return Error::success();
}
