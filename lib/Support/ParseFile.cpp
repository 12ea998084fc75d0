//===- ParseFile.cpp - Reading graphs and reporting errors ----------------===//

#include "hone/Support/ParseFile.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static std::string firstLine(const llvm::Twine &message) {
  return StringRef(message.str()).split('\n').first.rtrim().str();
}

llvm::Error hone::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

void hone::printError(const llvm::Twine &message) {
  llvm::errs() << "error: " << firstLine(message) << '\n';
}

void hone::printError(llvm::Error error) {
  printError(llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// What the parser is kept from
//===----------------------------------------------------------------------===//

namespace {
/// Walks over MLIR text keeping a stack of open brackets.
class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) {}

  /// Position of the bracket that opens level `maxNesting + 1`, if any.
  std::optional<size_t> findTooDeep();

private:
  /// Moves `at` past the string or comment that starts there, if one does.
  bool skipStringOrComment();
  void close(char opener) {
    // A closer of another kind is a syntax error, left to the parser: it must
    // not hide the depth of what surrounds it.
    if (!open.empty() && open.back() == opener)
      open.pop_back();
  }

  StringRef text;
  size_t at = 0;
  SmallVector<char, 64> open;
  unsigned signs = 0; // Each unary minus of an affine expression recurses too.
};
} // namespace

bool NestingScanner::skipStringOrComment() {
  if (text[at] == '/' && text.substr(at).starts_with("//")) {
    at = std::min(text.find('\n', at), text.size());
    return true;
  }
  if (text[at] != '"')
    return false;
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\')
      ++at;
  ++at;
  return true;
}

std::optional<size_t> NestingScanner::findTooDeep() {
  while (at < text.size()) {
    if (skipStringOrComment())
      continue;
    char c = text[at];
    if (c == '-' && text.substr(at).starts_with("->")) {
      at += 2;
      signs = 0;
      continue;
    }
    switch (c) {
    case '(':
    case '[':
    case '{':
    case '<':
      open.push_back(c);
      break;
    case ')':
      close('(');
      break;
    case ']':
      close('[');
      break;
    case '}':
      close('{');
      break;
    case '>':
      close('<');
      break;
    default:
      break;
    }
    if (!llvm::isSpace(c))
      signs = c == '-' ? signs + 1 : 0;
    if (open.size() > maxNesting || signs > maxNesting)
      return at;
    ++at;
  }
  return std::nullopt;
}

namespace {
/// Why text is not handed to the parser; line 0 stands for the whole file.
struct Refusal {
  std::string message;
  unsigned line = 0;
  unsigned column = 0;
};
} // namespace

/// MLIR's reader of bytecode trusts what it reads: damaged files corrupt the
/// heap. `text` may be split later, so that any part may become a file.
static bool holdsBytecode(StringRef text) {
  constexpr StringLiteral bytecodeMagic("ML\xefR"); // No UTF-8 text has it.
  return text.contains(bytecodeMagic);
}

static std::optional<Refusal> findRefusal(StringRef text) {
  if (holdsBytecode(text))
    return Refusal{"is MLIR bytecode, expected text"};
  std::optional<size_t> place = NestingScanner(text).findTooDeep();
  if (!place)
    return std::nullopt;
  StringRef before = text.take_front(*place);
  size_t newline = before.rfind('\n');
  size_t lineStart = newline == StringRef::npos ? 0 : newline + 1;
  return Refusal{llvm::formatv("nests {0} levels deep, expected at most {1}",
                               maxNesting + 1, maxNesting),
                 unsigned(before.count('\n') + 1),
                 unsigned(*place - lineStart + 1)};
}

llvm::Error hone::checkText(llvm::MemoryBufferRef buffer) {
  std::optional<Refusal> refusal = findRefusal(buffer.getBuffer());
  if (!refusal)
    return llvm::Error::success();
  std::string place = buffer.getBufferIdentifier().str();
  if (refusal->line)
    place += llvm::formatv(":{0}:{1}", refusal->line, refusal->column);
  return makeError(place + ": " + refusal->message);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static Location fileLocation(MLIRContext *context, StringRef path) {
  return NameLoc::get(StringAttr::get(context, path));
}

OwningOpRef<ModuleOp>
hone::parseGraph(std::unique_ptr<llvm::MemoryBuffer> buffer,
                 MLIRContext *context) {
  if (auto refusal = findRefusal(buffer->getBuffer())) {
    StringRef path = buffer->getBufferIdentifier();
    Location place = refusal->line
                         ? Location(FileLineColLoc::get(
                               context, path, refusal->line, refusal->column))
                         : fileLocation(context, path);
    emitError(place) << refusal->message;
    return {};
  }
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, context);
}

OwningOpRef<ModuleOp> hone::parseGraphFile(StringRef path,
                                           MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    emitError(fileLocation(context, path))
        << "cannot be read: " << buffer.getError().message();
    return {};
  }
  return parseGraph(std::move(*buffer), context);
}

//===----------------------------------------------------------------------===//
// Diagnostics of one line
//===----------------------------------------------------------------------===//

OneLineDiagnostics::OneLineDiagnostics(MLIRContext *context, StringRef fallback)
    : fallback(fallback), handler(context, [this](Diagnostic &diagnostic) {
        print(diagnostic);
        return success();
      }) {}

void OneLineDiagnostics::print(Diagnostic &diagnostic) {
  std::string place = describeLocation(diagnostic.getLocation());
  // MLIR's advice to the developers of its tools is of no use to ours.
  std::string message = diagnostic.str();
  StringRef said = StringRef(message).split(". If this is intended").first;
  std::string line =
      firstLine((place.empty() ? fallback : place) + ": " + said);
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    if (!std::exchange(hasFailed, true))
      printError(line);
    return;
  case DiagnosticSeverity::Warning:
    llvm::errs() << "warning: " << line << '\n';
    return;
  case DiagnosticSeverity::Remark:
    llvm::errs() << "remark: " << line << '\n';
    return;
  case DiagnosticSeverity::Note:
    return;
  }
}
