//===- hone-tools.cpp - Several tools in one executable -------------------===//
//
//   NAME ARGUMENT...             by a link named as the tool, or
//   hone-tools NAME ARGUMENT...
//
//===----------------------------------------------------------------------===//

#include "Tools.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace {
struct Tool {
  StringRef name;
  int (*main)(int, char **);
};
} // namespace

static constexpr Tool tools[] = {{"honec", hone::honecMain},
                                 {"hone-lsp-server", hone::honeLspServerMain},
                                 {"hone-opt", hone::honeOptMain},
                                 {"hone-run", hone::honeRunMain}};

static const Tool *findTool(StringRef name) {
  const Tool *tool =
      llvm::find_if(tools, [&](const Tool &each) { return each.name == name; });
  return tool == std::end(tools) ? nullptr : tool;
}

int main(int argc, char **argv) {
  if (argc > 0)
    if (const Tool *tool = findTool(llvm::sys::path::filename(argv[0])))
      return tool->main(argc, argv);
  StringRef name = argc > 1 ? argv[1] : "";
  if (const Tool *tool = findTool(name))
    return tool->main(argc - 1, argv + 1);
  llvm::errs() << "error: expected hone-tools TOOL ARGUMENT... with a tool of ";
  llvm::interleaveComma(tools, llvm::errs(),
                        [](const Tool &tool) { llvm::errs() << tool.name; });
  llvm::errs() << "; found " << (argc > 1 ? "'" + name.str() + "'" : "none")
               << '\n';
  return 2;
}
