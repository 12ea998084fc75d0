//===- Ptx.cpp - Facts about PTX text -------------------------------------===//

#include "Ptx.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace hone;

std::string hone::findExternalFunction(llvm::StringRef ptx) {
  // .extern .func (.param .b32 func_retval0) expf
  llvm::StringRef rest = ptx.split(".extern .func").second.ltrim();
  if (rest.consume_front("("))
    rest = rest.split(')').second.ltrim();
  return rest
      .take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; })
      .str();
}

llvm::StringRef hone::bodyOf(llvm::StringRef ptx, llvm::StringRef name) {
  std::string head = (".entry " + name + "(").str();
  size_t begin = ptx.find(head);
  if (begin == llvm::StringRef::npos)
    return "";
  // Braces within stand in indented lines.
  llvm::StringRef rest = ptx.substr(begin).split("\n{").second;
  return rest.take_front(rest.find("\n}"));
}

/// Bytes that `ld.global.nc.v4.f32` or the like moves; 0 for other
/// instructions.
static int64_t bytesMoved(llvm::StringRef instruction) {
  llvm::SmallVector<llvm::StringRef> parts;
  instruction.split(parts, '.');
  if (parts.front() != "ld" && parts.front() != "st")
    return 0;
  int64_t elements = 1, bits = 0;
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    if (llvm::is_contained({"shared", "local", "param", "const"}, part))
      return 0;
    int64_t number = 0;
    if (part.size() < 2 || part.drop_front().getAsInteger(10, number))
      continue;
    if (part.front() == 'v')
      elements = number;
    else
      bits = number; // b32, f64, u16, ...
  }
  return elements * bits / 8;
}

int64_t hone::countWideAccesses(llvm::StringRef ptx, llvm::StringRef name) {
  int64_t count = 0;
  llvm::SmallVector<llvm::StringRef> lines;
  bodyOf(ptx, name).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    // @%p1 ld.global.v4.f32 {...}
    llvm::StringRef text = line.trim();
    if (text.consume_front("@"))
      text = text.drop_until(llvm::isSpace).ltrim();
    count += bytesMoved(text.take_until(llvm::isSpace)) >= 16;
  }
  return count;
}
