//===- BytePairs.cpp - Byte-level BPE of a tokenizer.json -----------------===//

#include "io/text/BytePairs.h"
#include "base/Files.h"
#include "base/Json.h"

#include <array>
#include <limits>

using namespace honert;

//===----------------------------------------------------------------------===//
// Bytes as characters
//===----------------------------------------------------------------------===//

/// The character that stands for each byte in such files: itself where it is
/// printable in Latin-1, else one from 256 on.
static std::array<uint32_t, 256> charactersOfBytes() {
  std::array<uint32_t, 256> characters;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte != 256; ++byte) {
    bool isPrintable = (byte >= '!' && byte <= '~') ||
                       (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    characters[byte] = isPrintable ? byte : next++;
  }
  return characters;
}

/// The bytes that `name` stands for; false if it has another character.
static bool readBytes(const std::string &name, std::string &bytes) {
  static const std::map<uint32_t, char> byteOf = [] {
    std::map<uint32_t, char> bytes;
    for (int byte = 0; byte != 256; ++byte)
      bytes[charactersOfBytes()[static_cast<size_t>(byte)]] =
          static_cast<char>(byte);
    return bytes;
  }();
  for (size_t at = 0; at != name.size();) {
    auto found = byteOf.find(readUtf8(name, at));
    if (found == byteOf.end())
      return false;
    bytes += found->second;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

namespace honert {
/// Reads the members of a tokenizer.json that decide how text is cut.
class TokenizerFile {
public:
  TokenizerFile(BytePairTokenizer &tokenizer, std::string_view text)
      : tokenizer(tokenizer), json(text) {}

  /// False after a mistake of the JSON, or something that is not supported,
  /// which `unsupported` then names.
  bool read();

  std::string unsupported;
  std::string mistake() const {
    return format("%s at byte %zu", json.mistake().c_str(), json.position());
  }

private:
  bool refuse(const std::string &what) {
    if (unsupported.empty())
      unsupported = what;
    return json.fail(what);
  }
  bool readAdded();
  bool readNormalizer();
  bool readWords();
  bool readModel();
  bool readVocab();
  bool readMerge();
  bool findPattern();

  BytePairTokenizer &tokenizer;
  JsonReader json;
  std::vector<std::pair<std::string, std::string>> pairs; ///< as bytes
  std::string expression;                                 ///< of words
  bool isByteLevel = false, hasOwnExpression = true;
};
} // namespace honert

bool TokenizerFile::readAdded() {
  return json.readArray([&] {
    uint64_t id = 0;
    std::string content;
    bool isFine = json.readObject([&](const std::string &key) {
      return key == "id"        ? json.readUnsigned(id)
             : key == "content" ? json.readString(content)
                                : json.skipValue();
    });
    if (!content.empty())
      tokenizer.added[content] = static_cast<int64_t>(id);
    return isFine;
  });
}

bool TokenizerFile::readNormalizer() {
  if (!json.isNext('{'))
    return json.skipValue();
  std::string type;
  return json.readObject([&](const std::string &key) {
    return key == "type" ? json.readString(type) : json.skipValue();
  }) && (type == "NFC" || refuse("normalizer '" + type + "'"));
}

/// A pre-tokenizer, or several in turn.
bool TokenizerFile::readWords() {
  std::string type;
  bool addsSpace = false, usesExpression = true;
  bool isFine = json.readObject([&](const std::string &key) {
    if (key == "type")
      return json.readString(type);
    if (key == "add_prefix_space")
      return json.readBool(addsSpace);
    if (key == "use_regex")
      return json.readBool(usesExpression);
    if (key == "pretokenizers")
      return json.readArray([&] { return readWords(); });
    if (key == "pattern")
      return json.readObject([&](const std::string &kind) {
        return kind == "Regex" ? json.readString(expression)
                               : refuse("pattern '" + kind + "'");
      });
    return json.skipValue();
  });
  if (!isFine)
    return false;
  if (type != "ByteLevel" && type != "Sequence" && type != "Split")
    return refuse("pre-tokenizer '" + type + "'");
  if (addsSpace)
    return refuse("add_prefix_space");
  if (type == "ByteLevel") {
    isByteLevel = true;
    hasOwnExpression = usesExpression;
  }
  return true;
}

bool TokenizerFile::readVocab() {
  return json.readObject([&](const std::string &name) {
    uint64_t id;
    std::string bytes;
    if (!json.readUnsigned(id))
      return false;
    if (!readBytes(name, bytes)) {
      tokenizer.added.emplace(name, static_cast<int64_t>(id));
      return true;
    }
    tokenizer.bytes[static_cast<int64_t>(id)] = bytes;
    tokenizer.ids[bytes] = static_cast<int64_t>(id);
    return true;
  });
}

/// "a b", or ["a", "b"].
bool TokenizerFile::readMerge() {
  std::vector<std::string> names;
  if (json.isNext('[')) {
    if (!json.readArray([&] { return json.readString(names.emplace_back()); }))
      return false;
  } else {
    std::string both;
    if (!json.readString(both))
      return false;
    size_t space = both.find(' ');
    if (space != both.npos)
      names = {both.substr(0, space), both.substr(space + 1)};
  }
  auto &[first, second] = pairs.emplace_back();
  return (names.size() == 2 && readBytes(names[0], first) &&
          readBytes(names[1], second)) ||
         json.fail("expected a merge of two names of bytes");
}

bool TokenizerFile::readModel() {
  std::string type;
  return json.readObject([&](const std::string &key) {
    if (key == "type")
      return json.readString(type) &&
             (type == "BPE" || refuse("model '" + type + "'"));
    if (key == "ignore_merges")
      return json.readBool(tokenizer.takesWholeWords);
    if (key == "byte_fallback") {
      bool isOn = false;
      return json.readBool(isOn) && (!isOn || refuse("byte_fallback"));
    }
    if (key == "vocab")
      return readVocab();
    if (key == "merges")
      return json.readArray([&] { return readMerge(); });
    return json.skipValue();
  });
}

/// The expressions that are known.
bool TokenizerFile::findPattern() {
  if (expression.empty()) {
    tokenizer.pattern.isFirst = true;
    return hasOwnExpression || refuse("a pre-tokenizer without expression");
  }
  const std::string start =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  const std::string end =
      R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  tokenizer.pattern = {/*isFirst=*/false, /*digits=*/1};
  if (hasOwnExpression)
    return refuse("two expressions of words");
  if (expression == start + "{1,3}" + end)
    tokenizer.pattern.digits = 3;
  else if (expression != start + end)
    return refuse("the expression of words " + expression);
  return true;
}

bool TokenizerFile::read() {
  bool isFine = json.readObject([&](const std::string &key) {
    if (key == "added_tokens")
      return readAdded();
    if (key == "normalizer")
      return readNormalizer();
    if (key == "pre_tokenizer")
      return json.isNext('{') ? readWords() : json.skipValue();
    if (key == "model")
      return readModel();
    return json.skipValue();
  });
  if (!isFine || !json.readEnd())
    return false;
  if (!isByteLevel)
    return refuse("a pre-tokenizer that is not ByteLevel");
  if (!findPattern())
    return false;
  for (const auto &[text, id] : tokenizer.added)
    tokenizer.bytes[id] = text;
  int64_t rank = 0;
  for (const auto &[first, second] : pairs) {
    auto a = tokenizer.ids.find(first), b = tokenizer.ids.find(second),
         result = tokenizer.ids.find(first + second);
    if (a == tokenizer.ids.end() || b == tokenizer.ids.end() ||
        result == tokenizer.ids.end())
      return json.fail(format("merge %lld is not of the vocabulary",
                              static_cast<long long>(rank)));
    tokenizer.merges.emplace(std::pair(a->second, b->second),
                             BytePairTokenizer::Merge{rank, result->second});
    ++rank;
  }
  return true;
}

static Status readFile(const std::string &path, std::string &text) {
  ReadFile file;
  HONERT_TRY(file.open(path));
  text.resize(static_cast<size_t>(file.size()));
  return file.readAt(0, text.data(), file.size());
}

/// The text of `eos_token` in a tokenizer_config.json, or "".
static std::string configuredEnd(const std::string &text) {
  std::string end;
  JsonReader json(text);
  json.readObject([&](const std::string &key) {
    if (key != "eos_token")
      return json.skipValue();
    if (!json.isNext('{'))
      return json.isNext('"') ? json.readString(end) : json.skipValue();
    return json.readObject([&](const std::string &inner) {
      return inner == "content" ? json.readString(end) : json.skipValue();
    });
  });
  return end;
}

Status BytePairTokenizer::open(const std::string &path) {
  std::string text;
  HONERT_TRY(readFile(path, text));
  TokenizerFile file(*this, text);
  if (!file.read())
    return Status::error(
        path + ": " +
        (file.unsupported.empty()
             ? file.mistake() + ", expected a tokenizer.json"
             : file.unsupported + ", expected byte-level BPE as of GPT-2, "
                                  "Llama 3 or Qwen; --prompt-ids takes tokens "
                                  "as numbers"));
  std::string config;
  size_t slash = path.rfind('/');
  std::string folder = slash == path.npos ? "" : path.substr(0, slash + 1);
  std::vector<std::string> ends = {"<|endoftext|>", "</s>",  "<|end_of_text|>",
                                   "<|eot_id|>",    "<eos>", "<|im_end|>",
                                   "[SEP]"};
  if (readFile(folder + "tokenizer_config.json", config).ok())
    if (std::string end = configuredEnd(config); !end.empty())
      ends = {end};
  for (const std::string &end : ends)
    if (auto found = added.find(end); found != added.end() && endId < 0)
      endId = found->second;
  return Status();
}

//===----------------------------------------------------------------------===//
// Text to ids and back
//===----------------------------------------------------------------------===//

void BytePairTokenizer::encodeWord(std::string_view word,
                                   std::vector<int64_t> &out) const {
  if (takesWholeWords)
    if (auto whole = ids.find(std::string(word)); whole != ids.end())
      return out.push_back(whole->second);
  std::vector<int64_t> parts;
  for (char byte : word)
    if (auto found = ids.find(std::string(1, byte)); found != ids.end())
      parts.push_back(found->second);
  // The pair that was learned first is merged first, from the left.
  while (parts.size() > 1) {
    Merge best{std::numeric_limits<int64_t>::max(), 0};
    size_t place = 0;
    for (size_t i = 0; i + 1 != parts.size(); ++i)
      if (auto found = merges.find({parts[i], parts[i + 1]});
          found != merges.end() && found->second.rank < best.rank) {
        best = found->second;
        place = i;
      }
    if (best.rank == std::numeric_limits<int64_t>::max())
      break;
    parts[place] = best.result;
    parts.erase(parts.begin() + static_cast<int64_t>(place) + 1);
  }
  out.insert(out.end(), parts.begin(), parts.end());
}

void BytePairTokenizer::encodePlain(std::string_view text,
                                    std::vector<int64_t> &out) const {
  for (std::string_view word : cutWords(text, pattern))
    encodeWord(word, out);
}

Status BytePairTokenizer::encode(const std::string &text,
                                 std::vector<int64_t> &out) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    // The first added token in the text; of several there the longest.
    size_t first = rest.npos;
    std::pair<std::string, int64_t> token;
    for (const auto &each : added)
      if (size_t at = rest.find(each.first);
          at < first || (at == first && at != rest.npos &&
                         each.first.size() > token.first.size())) {
        first = at;
        token = each;
      }
    encodePlain(rest.substr(0, first), out);
    if (first == rest.npos)
      break;
    out.push_back(token.second);
    rest.remove_prefix(first + token.first.size());
  }
  return Status();
}

std::string BytePairTokenizer::bytesOf(int64_t id) const {
  auto found = bytes.find(id);
  return found == bytes.end() ? "" : found->second;
}
