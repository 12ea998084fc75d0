//===- Short.cpp - Text for reading ---------------------------------------===//

#include "Short.h"

#include "hone/IR/Hone.h"
#include "hone/Plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static void shorten(ModuleOp module) {
  // The last two are honec's (lib/Driver/Compile.cpp).
  for (StringRef name :
       {StringRef(attr::version), StringRef(attr::optimizer),
        StringRef("hone.fingerprint"), StringRef("hone.compiler")})
    module->removeAttr(name);
  Builder builder(module.getContext());
  auto removeDefault = [&](StringRef name, Attribute value) {
    if (module->getAttr(name) == value)
      module->removeAttr(name);
  };
  removeDefault(attr::precision, builder.getStringAttr("fp32"));
  removeDefault(attr::microBatches, builder.getI64IntegerAttr(1));
}

static void shorten(func::FuncOp func) {
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    func.removeArgAttr(index, attr::init);
    func.removeArgAttr(index, attr::paramGroup);
  }
}

namespace {
struct Shorten : PassWrapper<Shorten, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Shorten)
  StringRef getName() const override { return "Shorten"; }
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto module = dyn_cast<ModuleOp>(op))
        shorten(module);
      else if (auto func = dyn_cast<func::FuncOp>(op))
        shorten(func);
      else if (auto argument = dyn_cast<plan::ArgumentOp>(op))
        argument.removeInitAttr();
    });
  }
};
} // namespace

std::unique_ptr<Pass> hone::createShortenPass() {
  return std::make_unique<Shorten>();
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

namespace {
/// "(a, b)" at the start of a text.
struct List {
  SmallVector<StringRef> items;
  StringRef rest; // behind it
};
} // namespace

/// How many characters a string literal has that `text` begins with.
static size_t literalSize(StringRef text) {
  size_t size = 1;
  while (size < text.size() && text[size] != '"')
    size += text[size] == '\\' ? 2 : 1;
  return std::min(size + 1, text.size());
}

/// Nothing where the text has no list or it does not end.
static std::optional<List> readList(StringRef text) {
  if (!text.starts_with("("))
    return std::nullopt;
  List list;
  size_t depth = 1;
  size_t begin = 1;
  for (size_t at = 1; at < text.size();) {
    StringRef here = text.drop_front(at);
    if (here.starts_with("\"")) {
      at += literalSize(here);
      continue;
    }
    if (here.starts_with("->") || here.starts_with(">=")) {
      at += 2;
      continue;
    }
    if (StringRef("([{<").contains(here[0]))
      ++depth;
    else if (StringRef(")]}>").contains(here[0]))
      --depth;
    if (depth == 0 || (depth == 1 && here[0] == ',')) {
      list.items.push_back(text.slice(begin, at).trim());
      begin = at + 1;
    }
    if (depth == 0) {
      list.rest = here.drop_front();
      return list;
    }
    ++at;
  }
  return std::nullopt;
}

/// `line`, the head of a function.
static void printHead(llvm::raw_ostream &out, StringRef line) {
  size_t indent = line.find_first_not_of(' ');
  auto printList = [&](const List &list) {
    out << '(';
    llvm::interleave(
        list.items,
        [&](StringRef item) {
          if (list.items.size() > 1)
            out << '\n', out.indent(indent + 4);
          out << item;
        },
        [&] { out << ','; });
    out << ')';
  };
  // A name may be a literal, with parentheses.
  size_t open = line.find('@') + 1;
  if (line.drop_front(open).starts_with("\""))
    open += literalSize(line.drop_front(open));
  open = line.find('(', open);
  StringRef rest = line;
  if (open != StringRef::npos) {
    if (auto arguments = readList(line.drop_front(open))) {
      out << line.take_front(open);
      printList(*arguments);
      rest = arguments->rest;
      constexpr StringRef arrow = " -> ";
      if (rest.starts_with(arrow))
        if (auto results = readList(rest.drop_front(arrow.size()))) {
          out << arrow;
          printList(*results);
          rest = results->rest;
        }
    }
  }
  out << rest;
}

std::string hone::breakSignatures(StringRef text) {
  std::string broken;
  llvm::raw_string_ostream out(broken);
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.ltrim(' ').starts_with("func.func ") && line.contains('@'))
      printHead(out, line);
    else
      out << line;
    if (line.size() != text.size())
      out << '\n';
    text = rest;
  }
  return broken;
}
