//===- FuzzMain.cpp - Mutants of good inputs, the same in every run -------===//
//
// Mutant number N depends on N and the seeds alone: after a crash,
// `--first N --iterations 1` makes it again.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sys/time.h>
#include <unistd.h>
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER
#endif
#endif
#ifdef HAS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace {
/// SplitMix64: any number starts a stream of its own.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  size_t below(size_t bound) { return bound == 0 ? 0 : next() % bound; }

private:
  uint64_t state;
};

/// Changes `text` in ways that readers of binary and of text stumble over.
class Mutator {
public:
  Mutator(Random &random, const std::vector<std::string> &seeds)
      : random(random), seeds(seeds) {}

  std::string make() {
    text = pick(seeds);
    for (size_t changes = 1 + random.below(4); changes > 0; --changes)
      change();
    return text;
  }

private:
  const std::string &pick(const std::vector<std::string> &list) {
    return list[random.below(list.size())];
  }
  size_t place() { return random.below(text.size() + 1); }
  void change();
  void changeByte();
  void changeNumber();
  void overwriteInteger();

  Random &random;
  const std::vector<std::string> &seeds;
  std::string text;
};
} // namespace

static const std::vector<std::string> numbers = {"0",
                                                 "-1",
                                                 "1",
                                                 "255",
                                                 "65536",
                                                 "2147483647",
                                                 "2147483648",
                                                 "4294967296",
                                                 "4611686018427387904",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "-9223372036854775808",
                                                 "18446744073709551615",
                                                 "18446744073709551616",
                                                 "1e308",
                                                 "1e999",
                                                 "0.5",
                                                 "00",
                                                 "0x7fffffffffffffff",
                                                 "nan"};

void Mutator::changeByte() {
  if (text.empty())
    return;
  char &byte = text[random.below(text.size())];
  switch (random.below(3)) {
  case 0:
    byte = static_cast<char>(byte ^ 1 << random.below(8));
    break;
  case 1:
    byte = static_cast<char>(random.next());
    break;
  default:
    byte = "[]{}()<>\"',:\\-%@#!\n"[random.below(19)];
  }
}

/// Puts another number in the place of one, or anywhere.
void Mutator::changeNumber() {
  constexpr const char *digits = "0123456789";
  size_t begin = text.find_first_of(digits, place());
  if (begin == std::string::npos)
    begin = text.size();
  size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
  text.replace(begin, end - begin, pick(numbers));
}

/// A length or an offset in binary.
void Mutator::overwriteInteger() {
  static constexpr uint64_t values[] = {
      0,           1,          8,          0x7f,       0xff,
      0x7fff,      0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
      0x100000000, 1ull << 62, INT64_MAX,  1ull << 63, UINT64_MAX};
  uint64_t value =
      values[random.below(std::size(values))] + random.below(3) - 1;
  size_t width = size_t{1} << random.below(4);
  if (text.size() < width)
    return;
  size_t at = random.below(text.size() - width + 1);
  if (random.below(2))
    at = at / width * width;
  std::memcpy(text.data() + at, &value, width);
}

void Mutator::change() {
  size_t from = place(), count = random.below(random.below(8) ? 16 : 400);
  switch (random.below(9)) {
  case 0:
  case 1:
    return changeByte();
  case 2:
    return changeNumber();
  case 3:
    return overwriteInteger();
  case 4:
    text.erase(from, count);
    return;
  case 5: // A piece twice, or somewhere else.
    text.insert(place(), text.substr(std::min(from, text.size()), count));
    return;
  case 6: { // A piece of another input.
    const std::string &other = pick(seeds);
    size_t at = random.below(other.size() + 1);
    text.replace(from, random.below(2) ? count : 0, other, at, count);
    return;
  }
  case 7: // One byte many times: nesting.
    if (from < text.size())
      text.insert(from, random.below(200), text[from]);
    return;
  default:
    text.resize(random.below(8) ? text.size() : from);
  }
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

static constexpr const char *usage =
    "usage: FUZZER [--iterations N] [--first N] [--seconds S] [--keep FILE] "
    "[SEED...]\n"
    "  --iterations N  mutants at most (10000)\n"
    "  --first N       the number of the first one (0)\n"
    "  --seconds S     ends after S seconds (no bound)\n"
    "  --keep FILE     each mutant is in FILE before it is read\n"
    "  SEED            good inputs, where the fuzzer has none of its own\n";

static volatile uint64_t current; // the mutant that is read

/// Longer than any mutant takes, also on a machine that is busy.
static constexpr int mostSeconds = 60;

static void sayMutant(const char *what) {
  char line[64];
  int length = std::snprintf(line, sizeof line, "%sin mutant %llu\n", what,
                             static_cast<unsigned long long>(current));
  if (write(2, line, static_cast<size_t>(length)) < 0)
    _exit(1);
}

#ifdef HAS_SANITIZER
static void watchForCrashes() {
  __sanitizer_set_death_callback([] { sayMutant(""); });
}
#else
static void watchForCrashes() {
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, [](int seen) {
      sayMutant("");
      std::signal(seen, SIG_DFL);
      std::raise(seen);
    });
}
#endif

/// A mutant that is still the same one when the timer rings again.
static void watchForHangs() {
  static uint64_t last;
  last = UINT64_MAX;
  std::signal(SIGALRM, [](int) {
    if (current == last) {
      sayMutant("no end ");
      _exit(1);
    }
    last = current;
  });
  itimerval interval = {{mostSeconds, 0}, {mostSeconds, 0}};
  setitimer(ITIMER_REAL, &interval, nullptr);
}

namespace {
struct Options {
  uint64_t iterations = 10000, first = 0, seconds = INT32_MAX;
  std::string keep;
  std::vector<std::string> files;

  bool parse(int argc, char **argv);

private:
  bool set(const std::string &flag, const char *value);
};
} // namespace

bool Options::set(const std::string &flag, const char *value) {
  if (flag == "--keep") {
    keep = value;
    return true;
  }
  uint64_t *number = flag == "--iterations" ? &iterations
                     : flag == "--first"    ? &first
                     : flag == "--seconds"  ? &seconds
                                            : nullptr;
  char *end = nullptr;
  if (!number || *value < '0' || *value > '9')
    return false;
  *number = std::strtoull(value, &end, 10);
  return *end == 0 && seconds <= INT32_MAX;
}

bool Options::parse(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.rfind("--", 0) != 0)
      files.push_back(word);
    else if (i + 1 == argc || !set(word, argv[++i]))
      return false;
  }
  return true;
}

/// Reads it where the byte after its last one is not its own.
static bool read(const std::string &text) {
  std::unique_ptr<uint8_t[]> bytes(new uint8_t[text.size()]);
  std::copy(text.begin(), text.end(), bytes.get());
  return LLVMFuzzerTestOneInput(bytes.get(), text.size()) == 0;
}

int main(int argc, char **argv) {
  Options options;
  if (!options.parse(argc, argv)) {
    std::fputs(usage, stderr);
    return 2;
  }
  watchForCrashes();
  std::vector<std::string> seeds = fuzzSeeds(options.files);
  if (seeds.empty()) {
    std::fprintf(stderr, "error: no seed\n%s", usage);
    return 2;
  }
  for (const std::string &seed : seeds)
    if (!read(seed)) {
      std::fprintf(stderr, "error: a seed is refused:\n%s\n", seed.c_str());
      return 1;
    }
  watchForHangs();
  uint64_t accepted = 0, done = 0;
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> passed{};
  auto start = Clock::now();
  for (; done < options.iterations; ++done) {
    passed = Clock::now() - start;
    if (passed.count() > static_cast<double>(options.seconds))
      break;
    current = options.first + done;
    Random random(current);
    std::string text = Mutator(random, seeds).make();
    if (!options.keep.empty())
      std::ofstream(options.keep, std::ios::binary) << text;
    accepted += read(text);
  }
  std::printf("%llu mutants in %.0f s, %llu accepted\n",
              static_cast<unsigned long long>(done), passed.count(),
              static_cast<unsigned long long>(accepted));
  return 0;
}
