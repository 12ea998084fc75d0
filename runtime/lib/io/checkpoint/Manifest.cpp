//===- Manifest.cpp - What a checkpoint says of itself --------------------===//

#include "io/checkpoint/Manifest.h"
#include "base/Files.h"
#include "base/Json.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

using namespace honert;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Manifest Manifest::of(const Program &program) {
  Manifest manifest;
  manifest.fingerprint = program.text("fingerprint");
  manifest.model = program.text("model");
  manifest.precision = program.text("precision", "fp32");
  manifest.optimizer = program.text("optimizer");
  if (const Argument *tokens = program.input(Role::tokens))
    for (int64_t size : tokens->whole)
      manifest.batch +=
          (manifest.batch.empty() ? "" : "x") + std::to_string(size);
  manifest.microBatches = program.microBatches();
  return manifest;
}

static std::string hex(uint64_t value) {
  return format("%016llx", static_cast<unsigned long long>(value));
}

static bool readHex(const std::string &text, uint64_t &value) {
  value = 0;
  for (char c : text) {
    const char *digits = "0123456789abcdef";
    const char *found =
        c ? std::char_traits<char>::find(digits, 16, c) : nullptr;
    if (!found)
      return false;
    value = value << 4 | static_cast<uint64_t>(found - digits);
  }
  return text.size() == 16;
}

static std::string seal(const std::string &rest) {
  Checksum checksum;
  checksum.add(rest.data(), static_cast<int64_t>(rest.size()));
  return "{\"checksum\":\"" + hex(checksum.value()) + "\",\n";
}

std::string honert::textOf(const Manifest &manifest) {
  const RunPosition &position = manifest.position;
  auto number = [](const char *key, uint64_t value) {
    return format("\"%s\":%llu,\n", key,
                  static_cast<unsigned long long>(value));
  };
  auto text = [](const char *key, const std::string &value) {
    return format("\"%s\":", key) + quoteJson(value) + ",\n";
  };
  std::string rest =
      number("format", manifest.format) +
      text("fingerprint", manifest.fingerprint) +
      text("model", manifest.model) + text("precision", manifest.precision) +
      text("optimizer", manifest.optimizer) + text("batch", manifest.batch) +
      number("micro_batches", uint64_t(manifest.microBatches)) +
      number("step", uint64_t(position.step)) +
      number("micro_step", uint64_t(position.microStep)) +
      number("seed", position.seed) + number("shuffle", position.shuffle) +
      number("data_tokens", uint64_t(position.dataTokens)) + "\"inputs\":[";
  const char *separator = "";
  for (const FileIdentity &file : manifest.facts.files) {
    std::string slots = file.slots ? format(",\"slots\":%lld",
                                            static_cast<long long>(file.slots))
                                   : "";
    rest += separator + format("{\"flag\":%s,\"bytes\":%lld,\"hash\":\"%s\"%s}",
                               quoteJson(file.flag).c_str(),
                               static_cast<long long>(file.bytes),
                               hex(file.hash).c_str(), slots.c_str());
    separator = ",\n";
  }
  rest += "],\n\"settings\":{";
  separator = "";
  for (const auto &[flag, value] : manifest.facts.settings) {
    rest += separator + quoteJson(flag) + ":" + quoteJson(value);
    separator = ",";
  }
  rest += format("},\n\"files\":[{\"name\":\"%s\",\"bytes\":%lld,"
                 "\"checksum\":\"%s\"}]}\n",
                 stateName, static_cast<long long>(manifest.stateBytes),
                 hex(manifest.stateChecksum).c_str());
  return seal(rest) + rest;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Fills a manifest from JSON; which keys were there is kept.
class ManifestReader {
public:
  ManifestReader(std::string_view text, Manifest &manifest)
      : manifest(manifest), json(text) {}

  /// An empty text: all is well.
  std::string read() {
    std::string latest;
    bool isRead = json.readObject([&](const std::string &key) {
      seen.insert(key);
      latest = key;
      return readMember(key);
    }) && json.readEnd();
    if (!isRead)
      return "at '" + latest + "': " + json.mistake();
    for (const std::string &key : expectedKeys())
      if (!seen.count(key))
        return "key '" + key + "' is missing";
    return "";
  }

private:
  std::vector<std::string> expectedKeys() const {
    std::vector<std::string> keys = {"fingerprint", "step",        "micro_step",
                                     "seed",        "shuffle",     "files",
                                     "checksum",    "data_tokens", "format"};
    if (manifest.format >= 3)
      keys.insert(keys.end(), {"model", "precision", "optimizer",
                               "micro_batches", "inputs", "settings"});
    if (manifest.format >= 4)
      keys.push_back("batch");
    return keys;
  }

  /// A number from 0 to `most`.
  template <typename T> bool readNumber(T &value, uint64_t most) {
    uint64_t number;
    if (!json.readUnsigned(number))
      return false;
    if (number > most)
      return json.fail(format("%llu, expected at most %llu",
                              static_cast<unsigned long long>(number),
                              static_cast<unsigned long long>(most)));
    value = static_cast<T>(number);
    return true;
  }

  bool readHash(uint64_t &value) {
    std::string text;
    return json.readString(text) &&
           (readHex(text, value) || json.fail("expected 16 hex digits"));
  }

  bool readMember(const std::string &key) {
    RunPosition &position = manifest.position;
    const std::map<std::string, std::string *> strings = {
        {"checksum", &ownChecksum},
        {"fingerprint", &manifest.fingerprint},
        {"model", &manifest.model},
        {"precision", &manifest.precision},
        {"optimizer", &manifest.optimizer},
        {"batch", &manifest.batch}};
    if (auto found = strings.find(key); found != strings.end())
      return json.readString(*found->second);
    if (key == "format")
      return readNumber(manifest.format, UINT64_MAX);
    if (key == "micro_batches")
      return readNumber(manifest.microBatches, INT32_MAX);
    if (key == "step")
      return readNumber(position.step, INT64_MAX);
    if (key == "micro_step")
      return readNumber(position.microStep, INT64_MAX);
    if (key == "seed")
      return readNumber(position.seed, INT64_MAX);
    if (key == "shuffle")
      return readNumber(position.shuffle, 1);
    if (key == "data_tokens")
      return readNumber(position.dataTokens, INT64_MAX);
    if (key == "inputs")
      return json.readArray([&] { return readInput(); });
    if (key == "settings")
      return json.readObject([&](const std::string &flag) {
        manifest.facts.settings.emplace_back(flag, "");
        return json.readString(manifest.facts.settings.back().second);
      });
    if (key == "files")
      return json.readArray([&] { return readState(); });
    return json.fail("unknown key '" + key + "'");
  }

  bool readInput() {
    FileIdentity &file = manifest.facts.files.emplace_back();
    std::set<std::string> keys;
    return json.readObject([&](const std::string &key) {
      keys.insert(key);
      if (key == "flag")
        return json.readString(file.flag);
      if (key == "bytes")
        return readNumber(file.bytes, INT64_MAX);
      if (key == "slots")
        return readNumber(file.slots, INT32_MAX);
      return key == "hash" ? readHash(file.hash)
                           : json.fail("unknown key '" + key + "'");
    }) && (keys.size() - keys.count("slots") == 3 ||
           json.fail("expected flag, bytes and hash"));
  }

  bool readState() {
    std::string file;
    std::set<std::string> keys;
    bool isRead = json.readObject([&](const std::string &key) {
      keys.insert(key);
      if (key == "name")
        return json.readString(file);
      if (key == "bytes")
        return readNumber(manifest.stateBytes, INT64_MAX);
      return key == "checksum" ? readHash(manifest.stateChecksum)
                               : json.fail("unknown key '" + key + "'");
    });
    if (!isRead)
      return false;
    if (++states > 1 || file != stateName || keys.size() != 3)
      return json.fail(format("expected one file, %s", stateName));
    return true;
  }

  Manifest &manifest;
  JsonReader json;
  std::set<std::string> seen;
  std::string ownChecksum;
  int states = 0;
};
} // namespace

Status honert::parseManifest(const std::string &name, std::string_view text,
                             Manifest &manifest) {
  size_t lineEnd = text.find('\n');
  std::string rest(lineEnd == text.npos ? "" : text.substr(lineEnd + 1));
  if (text.substr(0, text.size() - rest.size()) != seal(rest))
    return Status::error(name + ": checksum does not match");
  manifest = Manifest();
  manifest.format = 0;
  std::string mistake = ManifestReader(text, manifest).read();
  bool isKnown = manifest.format >= 2 && manifest.format <= Manifest::newest;
  if (!isKnown && (manifest.format != 0 || mistake.empty()))
    return Status::usage(
        format("%s: format %llu, expected 2 to %llu", name.c_str(),
               static_cast<unsigned long long>(manifest.format),
               static_cast<unsigned long long>(Manifest::newest)));
  if (!mistake.empty())
    return Status::error(name + ": is no manifest (" + mistake + ")");
  return Status();
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

static std::string weightsAlone(const std::string &folder) {
  return format("for its weights alone: --init %s/%s", folder.c_str(),
                stateName);
}

/// Steps, micro-batches and positions in the data that the program can count.
static Status checkRange(const std::string &folder, const Manifest &manifest,
                         const Program &program) {
  const RunPosition &position = manifest.position;
  int64_t micro, last;
  const Argument *tokens = program.input(Role::tokens);
  int64_t perBatch = tokens ? *elementCount(tokens->whole) : 1;
  // The run goes on from there: later positions must be numbers too.
  if (__builtin_mul_overflow(position.step, program.microBatches(), &micro) ||
      __builtin_mul_overflow(micro, std::max<int64_t>(perBatch, 1), &last) ||
      last > INT64_MAX / 4)
    return Status::error(
        format("%s/manifest.json: step %lld, expected one that reads fewer "
               "than 2^61 tokens in all",
               folder.c_str(), static_cast<long long>(position.step)));
  if (micro != position.microStep)
    return Status::usage(
        format("%s: %lld micro-batches after %lld steps, this program reads "
               "%lld; expected as many; %s",
               folder.c_str(), static_cast<long long>(position.microStep),
               static_cast<long long>(position.step),
               static_cast<long long>(micro), weightsAlone(folder).c_str()));
  return Status();
}

/// "small 4x128 fp32", as far as it is known.
static std::string describe(const Manifest &manifest) {
  std::string text = manifest.model;
  for (const std::string *word : {&manifest.batch, &manifest.precision})
    if (!word->empty())
      text += " " + *word;
  return text;
}

Status honert::checkProgram(const std::string &folder, const Manifest &manifest,
                            const Program &program) {
  Manifest own = Manifest::of(program);
  if (manifest.fingerprint != own.fingerprint) {
    std::string saved = describe(manifest), now = describe(own);
    if (saved == now || manifest.batch.empty()) { // the graphs differ, too
      saved += format(" (%.12s)", manifest.fingerprint.c_str());
      now += format(" (%.12s)", own.fingerprint.c_str());
    }
    return Status::usage(format(
        "%s: saved by %s, this program is %s; expected the same model; %s",
        folder.c_str(), saved.c_str(), now.c_str(),
        weightsAlone(folder).c_str()));
  }
  if (manifest.format >= 3) {
    auto count = [](int64_t value) { return std::to_string(value); };
    const struct {
      const char *what;
      std::string saved, now;
    } facts[] = {{"precision", manifest.precision, own.precision},
                 {"optimizer", manifest.optimizer, own.optimizer},
                 {"micro-batches per step", count(manifest.microBatches),
                  count(own.microBatches)}};
    for (const auto &fact : facts)
      if (fact.saved != fact.now)
        return Status::usage(
            format("%s: %s %s, this program has %s; expected the same; %s",
                   folder.c_str(), fact.what,
                   fact.saved.empty() ? "none" : fact.saved.c_str(),
                   fact.now.empty() ? "none" : fact.now.c_str(),
                   weightsAlone(folder).c_str()));
  }
  return checkRange(folder, manifest, program);
}

static const FileIdentity *find(const std::vector<FileIdentity> &files,
                                const std::string &flag) {
  auto found =
      std::find_if(files.begin(), files.end(),
                   [&](const FileIdentity &each) { return each.flag == flag; });
  return found == files.end() ? nullptr : &*found;
}

Status honert::checkFiles(const std::string &folder, const Manifest &manifest,
                          const std::vector<FileIdentity> &files) {
  std::set<std::string> flags;
  for (const auto *list : {&manifest.facts.files, &files})
    for (const FileIdentity &file : *list)
      flags.insert(file.flag);
  auto textOf = [](const FileIdentity *file) {
    return file ? format("%lld bytes, hash %s",
                         static_cast<long long>(file->bytes),
                         hex(file->hash).c_str())
                : std::string("none");
  };
  for (const std::string &flag : flags) {
    const FileIdentity *saved = find(manifest.facts.files, flag);
    const FileIdentity *now = find(files, flag);
    bool mayMiss = flag.rfind("--val-", 0) == 0;
    if (saved && now ? *saved == *now : mayMiss)
      continue;
    if (saved && now && saved->slots != now->slots)
      return Status::usage(format(
          "%s: the run had other weights for %s (%lld slots, now %lld); "
          "expected the same, or --new-data to go on with these",
          folder.c_str(), flag.c_str(), static_cast<long long>(saved->slots),
          static_cast<long long>(now->slots)));
    return Status::usage(format(
        "%s: the run had another file for %s (%s; now %s); expected the same, "
        "or --new-data to go on with this one",
        folder.c_str(), flag.c_str(), textOf(saved).c_str(),
        textOf(now).c_str()));
  }
  return Status();
}
