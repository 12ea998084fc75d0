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
class TextScanner {
public:
  explicit TextScanner(StringRef text) : text(text) {}

  /// Position of what the parser must not see, if anything: the bracket that
  /// opens level `maxNesting + 1`; a number in an array of i1, for which MLIR
  /// stores nothing, so that whoever reads the array reads past its end; a
  /// result number that MLIR makes room for before it looks at the op.
  std::optional<size_t> find();
  /// Why not.
  std::string message() const { return why; }

private:
  void openBracket(char opener);
  /// Whether a number starts at `at` in an array that must have none.
  bool isNumberInBooleans() const;
  bool isLargeResultNumber() const;
  /// Whether what is at `at` must not be there; then `why` is set.
  bool isRefused();
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
  size_t booleans = 0; // brackets around the array of i1 that is read, or 0
  std::string why;
  unsigned signs = 0; // Each unary minus of an affine expression recurses too.
};
} // namespace

static bool isWord(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
}

void TextScanner::openBracket(char opener) {
  StringRef type = text.drop_front(at + 1).ltrim();
  bool isArray =
      opener == '<' && text.take_front(at).rtrim().ends_with("array");
  open.push_back(opener);
  // An alias may stand for i1, and a comment may hide it.
  bool isBoolean = type.consume_front("i1")
                       ? type.empty() || !isWord(type[0])
                       : type.starts_with("!") || type.starts_with("//");
  if (isArray && isBoolean)
    booleans = open.size();
}

bool TextScanner::isNumberInBooleans() const {
  return booleans && open.size() == booleans && llvm::isDigit(text[at]) &&
         !isWord(text[at - 1]);
}

bool TextScanner::isLargeResultNumber() const {
  constexpr size_t mostDigits = 6;
  return text[at] == '#' &&
         text.drop_front(at + 1).take_while(llvm::isDigit).size() > mostDigits;
}

bool TextScanner::isRefused() {
  if (open.size() > maxNesting || signs > maxNesting)
    why = llvm::formatv("nests {0} levels deep, expected at most {1}",
                        maxNesting + 1, maxNesting);
  else if (isNumberInBooleans())
    why = "has a number in an array of i1, expected true or false";
  else if (isLargeResultNumber())
    why = "has a result number of more than 6 digits, expected fewer";
  return !why.empty();
}

bool TextScanner::skipStringOrComment() {
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

std::optional<size_t> TextScanner::find() {
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
      openBracket(c);
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
    if (open.size() < booleans)
      booleans = 0;
    if (isRefused())
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
  TextScanner scanner(text);
  std::optional<size_t> place = scanner.find();
  if (!place)
    return std::nullopt;
  StringRef before = text.take_front(*place);
  size_t newline = before.rfind('\n');
  size_t lineStart = newline == StringRef::npos ? 0 : newline + 1;
  return Refusal{scanner.message(), unsigned(before.count('\n') + 1),
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
