//===- hone-pack.cpp - The allocation planner on a file of buffers --------===//
//
// Packs the buffers of a CSV file as hone-plan-memory packs those of a
// function, checks the result on its own, and says how good it is.
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/Memory/Plan.h"
#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <map>

using namespace hone;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef usage =
    R"(hone-pack: offsets for buffers with lifetimes

  hone-pack FILE.csv [options]    packs the buffers of FILE and checks that none overlap
      --capacity N                bytes that are enough; exit 1 if the buffers need more
      --alignment N               offsets are multiples of N (default 1)
      --nodes N                   decisions of the search at most (default 160000; 0: greedy alone)
      -o OUT.csv                  FILE with the offsets (- for standard output)

FILE has the columns id, lower, upper and size: a buffer lives from position lower up to upper, exclusive.
A column offset is passed over.
)";

enum ExitCode { ok = 0, failed = 1, wrongCommandLine = 2 };

namespace {
struct CommandLine {
  StringRef file, output;
  int64_t capacity = 0; // 0: none given
  int64_t alignment = 1;
  PackingLimits limits;
};

/// The buffers of a file, with their names.
struct Table {
  SmallVector<std::string> names;
  SmallVector<BufferRequest> requests;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool fail(const Twine &message) {
  printError(message);
  return false;
}

/// Reads the command line; false after an error.
static bool readCommandLine(llvm::ArrayRef<const char *> words,
                            CommandLine &line) {
  for (size_t next = 0; next != words.size(); ++next) {
    StringRef word = words[next];
    if (!word.starts_with("-")) {
      if (!line.file.empty())
        return fail(word + ": a second file, expected one");
      line.file = word;
      continue;
    }
    int64_t *value = word == "--capacity"    ? &line.capacity
                     : word == "--alignment" ? &line.alignment
                     : word == "--nodes"     ? &line.limits.maxNodes
                                             : nullptr;
    if (!value && word != "-o")
      return fail(word + ": unknown, expected an option of hone-pack --help" +
                  suggestName(word, {"--capacity", "--alignment", "--nodes"}));
    if (next + 1 == words.size())
      return fail(word + ": has no value, expected one");
    StringRef text = words[++next];
    if (!value) {
      line.output = text;
      continue;
    }
    int64_t least = word == "--nodes" ? 0 : 1;
    int64_t most = word == "--alignment" ? int64_t(1) << 30
                                         : std::numeric_limits<int64_t>::max();
    if (text.getAsInteger(10, *value) || *value < least || *value > most)
      return fail(word + ": '" + text + "', expected an integer of at least " +
                  Twine(least) +
                  (word == "--alignment" ? " and at most 2^30" : ""));
  }
  if (line.file.empty())
    return fail("got no file, expected FILE.csv (see hone-pack --help)");
  line.limits.target = line.capacity;
  return true;
}

static Error errorAt(StringRef file, size_t line, const Twine &message) {
  return makeError(file + ":" + Twine(line) + ": " + message);
}

/// The numbers of the columns id, lower, upper and size.
static Expected<std::array<size_t, 4>> readHeader(StringRef file,
                                                  StringRef header) {
  static constexpr StringRef names[] = {"id", "lower", "upper", "size"};
  constexpr size_t missing = ~size_t(0);
  std::array<size_t, 4> columns = {missing, missing, missing, missing};
  SmallVector<StringRef> words;
  header.split(words, ',');
  for (auto [number, word] : llvm::enumerate(words)) {
    StringRef name = word.trim();
    const StringRef *known = llvm::find(names, name);
    if (known != std::end(names))
      columns[known - names] = number;
    else if (name != "offset")
      return errorAt(file, 1,
                     "column '" + name +
                         "', expected id, lower, upper, size or offset");
  }
  for (auto [name, column] : llvm::zip(names, columns))
    if (column == missing)
      return errorAt(file, 1, "has no column '" + name + "'");
  return columns;
}

static Expected<Table> readTable(StringRef file, StringRef text) {
  Table table;
  std::array<size_t, 4> columns;
  size_t width = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    StringRef row;
    std::tie(row, text) = text.split('\n');
    SmallVector<StringRef> words;
    row.trim().split(words, ',');
    if (number == 1) {
      Expected<std::array<size_t, 4>> header = readHeader(file, row);
      if (!header)
        return header.takeError();
      columns = *header;
      width = words.size();
      continue;
    }
    if (row.trim().empty())
      continue;
    if (words.size() != width)
      return errorAt(file, number,
                     "has " + Twine(words.size()) + " values, expected " +
                         Twine(width));
    int64_t values[3]; // lower, upper, size
    for (size_t i = 0; i != 3; ++i)
      if (words[columns[i + 1]].trim().getAsInteger(10, values[i]) ||
          values[i] < 0)
        return errorAt(file, number,
                       "'" + words[columns[i + 1]].trim() +
                           "', expected an integer of at least 0");
    if (values[0] >= values[1])
      return errorAt(file, number,
                     "lives from " + Twine(values[0]) + " to " +
                         Twine(values[1]) +
                         ", expected an end after the "
                         "beginning");
    table.names.push_back(words[columns[0]].trim().str());
    table.requests.push_back({values[2], values[0], values[1] - 1});
  }
  if (width == 0)
    return makeError(file + ": is empty, expected a header");
  return table;
}

//===----------------------------------------------------------------------===//
// Checking and writing
//===----------------------------------------------------------------------===//

/// Walks through the positions and keeps the bytes that are taken; an error
/// names two buffers that overlap, or one out of place. Shares no code with the
/// planner.
static Error checkPacking(const Table &table, const Packing &packing,
                          int64_t alignment) {
  struct Event {
    int64_t position;
    bool begins; // after what ends there: upper is exclusive
    size_t buffer;
  };
  SmallVector<Event> events;
  for (auto [index, request] : llvm::enumerate(table.requests)) {
    if (request.bytes == 0)
      continue;
    int64_t offset = packing.offsets[index];
    if (offset < 0 || offset % alignment != 0 ||
        offset > packing.bytes - request.bytes)
      return makeError("wrong packing: buffer " + table.names[index] +
                       " lies at " + Twine(offset));
    events.push_back({request.first, true, index});
    events.push_back({request.last + 1, false, index});
  }
  llvm::sort(events, [](const Event &a, const Event &b) {
    return std::tie(a.position, a.begins, a.buffer) <
           std::tie(b.position, b.begins, b.buffer);
  });
  std::map<int64_t, size_t> taken; // offset -> buffer, for those that live
  for (const Event &event : events) {
    int64_t offset = packing.offsets[event.buffer];
    if (!event.begins) {
      taken.erase(offset);
      continue;
    }
    auto [here, isFree] = taken.try_emplace(offset, event.buffer);
    size_t other = here->second;
    bool meets = !isFree;
    auto above = std::next(here);
    if (!meets && above != taken.end() &&
        offset + table.requests[event.buffer].bytes > above->first) {
      meets = true;
      other = above->second;
    }
    if (!meets && here != taken.begin()) {
      auto below = std::prev(here);
      meets = below->first + table.requests[below->second].bytes > offset;
      other = below->second;
    }
    if (meets)
      return makeError("wrong packing: buffers " + table.names[other] +
                       " and " + table.names[event.buffer] + " overlap");
  }
  return Error::success();
}

static bool writeTable(const Table &table, const Packing &packing,
                       StringRef file) {
  std::error_code error;
  llvm::raw_fd_ostream out(file, error);
  if (error)
    return fail(file + ": " + error.message());
  out << "id,lower,upper,size,offset\n";
  for (auto [name, request, offset] :
       llvm::zip(table.names, table.requests, packing.offsets))
    out << name << ',' << request.first << ',' << request.last + 1 << ','
        << request.bytes << ',' << offset << '\n';
  out.close();
  if (!out.has_error())
    return true;
  fail(file + ": " + out.error().message());
  out.clear_error();
  return false;
}

static int pack(const CommandLine &line) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFileOrSTDIN(line.file, /*IsText=*/true);
  if (!buffer) {
    printError(line.file + ": " + buffer.getError().message());
    return failed;
  }
  Expected<Table> table = readTable(line.file, (*buffer)->getBuffer());
  if (!table) {
    printError(table.takeError());
    return failed;
  }
  Packing packing = packBuffers(table->requests, line.alignment, line.limits);
  if (packing.bytes == std::numeric_limits<int64_t>::max()) {
    printError(line.file + ": needs more than 2^63 bytes");
    return failed;
  }
  if (Error error = checkPacking(*table, packing, line.alignment)) {
    printError(std::move(error));
    return failed;
  }
  if (!line.output.empty() && !writeTable(*table, packing, line.output))
    return failed;
  llvm::raw_ostream &out = line.output == "-" ? llvm::errs() : llvm::outs();
  out << "buffers " << table->requests.size() << "\nlower bound "
      << packing.lowerBound << "\nheight " << packing.bytes << "\nnodes "
      << packing.nodes << '\n';
  out.flush();
  if (line.capacity != 0 && packing.bytes > line.capacity) {
    printError(line.file + ": needs " + Twine(packing.bytes) + " bytes, " +
               Twine(packing.bytes - line.capacity) +
               " above the capacity of " + Twine(line.capacity));
    return failed;
  }
  return ok;
}

int main(int argc, char **argv) {
  llvm::ArrayRef<const char *> words(argv + 1, argv + argc);
  if (argc == 2 &&
      (StringRef(words[0]) == "--help" || words[0] == StringRef("-h"))) {
    llvm::outs() << usage;
    return ok;
  }
  CommandLine line;
  if (!readCommandLine(words, line))
    return wrongCommandLine;
  try {
    return pack(line);
  } catch (const std::exception &exception) {
    printError(Twine("hone-pack: out of memory (") + exception.what() + ")");
    return failed;
  }
}
