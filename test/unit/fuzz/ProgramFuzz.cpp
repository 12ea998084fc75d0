//===- ProgramFuzz.cpp - Descriptions of programs -------------------------===//
//
// An input is a list of calls of abi.def, of bytes that stand for words: what a
// damaged executable might say of itself. check() has to see what does not fit.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "honert/honert.h"
#include "program/Program.h"

#include <array>
#include <cstring>
#include <memory>

namespace {
/// A call: which function, two names, sizes and offsets, a list of them.
struct Call {
  static constexpr size_t bytes = 27;

  explicit Call(const uint8_t *from) : code(from[0] % 27) {
    name = names[from[1] % std::size(names)];
    other = names[from[2] % std::size(names)];
    for (size_t i = 0; i < 12; ++i) {
      n[i] = number(from[3 + i]);
      list[i] = number(from[15 + i]);
    }
  }
  /// Ranks and counts stay within the list that is handed over.
  int64_t few(int i) const { return (n[i] & INT64_MAX) % 13; }

  uint8_t code;
  const char *name, *other;
  std::array<int64_t, 12> n, list;

  static constexpr const char *names[] = {
      "step",   "loss",     "w",       "b",          "lr",  "accumulate",
      "tokens", "evaluate", "targets", "grad_norm",  "",    "update",
      "clip",   "abi",      "mask",    "loss_scale", "rng", "dp"};

private:
  /// Small ones, multiples of 64, and those at the ends of what there is.
  static int64_t number(uint8_t code) {
    static constexpr int64_t extremes[] = {
        -1,        INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 63, -64,
        1LL << 62, 1LL << 61, 1LL << 58,     1LL << 32, 1LL << 31};
    if (code >= 0xf0)
      return extremes[(code - 0xf0) % std::size(extremes)];
    return code < 0x40 ? code : (code - 0x40) * int64_t{64};
  }
};
} // namespace

static void kernel(void *const *, int64_t, int64_t) {}

static void describeArgument(honert_program *p, const Call &c) {
  const auto &n = c.n;
  switch (c.code) {
  case 0:
    return honert_argument(p, n[0], c.name, n[1], c.few(2), c.list.data(),
                           n[3]);
  case 1:
    return honert_argument_part(p, c.name, c.few(0), c.list.data(), c.n.data());
  case 2:
    return honert_argument_init(p, n[0], double(n[1]), double(n[2]), c.name);
  case 3:
    return honert_argument_role(p, n[0], n[1]);
  case 4:
    return honert_argument_data(p, "0123456789abcdef", n[0]);
  case 5:
    return honert_argument_whole(p, c.few(0), c.list.data());
  case 6:
    return honert_argument_division(p, n[0], c.few(1), c.list.data(), c.few(2),
                                    c.n.data(), n[1]);
  default:
    return honert_argument_partial(p, c.few(0), c.list.data());
  }
}

static void describeLaunch(honert_program *p, const Call &c) {
  const auto &n = c.n;
  switch (c.code) {
  case 8:
    return honert_launch(p, c.name, "", kernel, n[0], n[1], c.few(2),
                         c.list.data());
  case 9:
    return honert_device_launch(p, c.name, "", c.other, n[0], n[1], c.few(2),
                                c.list.data());
  case 10:
    return honert_matmul(p, c.name, "", n[0], n[1], n[2], n[3], n[4], n[5],
                         c.list.data(), n[6], n[7], n[8], n[9], n[10]);
  case 11:
    return honert_matmul_epilogue(p, n[0], n[1], n[2], n[3]);
  case 12:
    return honert_collective(p, c.name, "", n[0], n[1], n[2], n[3], n[4],
                             c.few(5), c.list.data(), n[6], n[7], n[8]);
  case 13:
    return honert_wait(p, n[0]);
  case 14:
    return honert_shard(p, c.name, "", c.few(0), c.list.data(), n[1], n[2],
                        n[3], n[4]);
  case 15:
    return honert_coordinate(p, c.few(0), c.list.data(), n[1]);
  case 16:
    return honert_zero(p, n[0], n[1]);
  default:
    return honert_launch_cost(p, c.name, n[0], n[1]);
  }
}

static void describe(honert_program *p, const Call &c) {
  const auto &n = c.n;
  if (c.code < 8)
    return describeArgument(p, c);
  if (c.code < 18)
    return describeLaunch(p, c);
  switch (c.code) {
  case 18:
    return honert_function(p, c.name);
  case 19:
    return honert_result(p, c.name, n[0], c.few(1), c.list.data(), n[2]);
  case 20:
    return honert_arena(p, n[0]);
  case 21:
    return honert_meta_number(p, c.name, double(n[0]));
  case 22:
    return honert_mesh_axis(p, c.name, n[0], c.other);
  case 23:
    return honert_category(p, c.name, n[0]);
  case 24:
    return honert_live(p, c.name, c.other, "", n[0], c.few(1), c.list.data(),
                       n[2], n[3]);
  case 25:
    return honert_device_code(p, n[0], n[1], "code", 4);
  default:
    return honert_matmul_scales(p, n[0], n[1], n[2], n[3], n[4], n[5]);
  }
}

/// The bytes of a call; what is not given is 0.
static std::string call(int code, int name, std::initializer_list<int> numbers,
                        std::initializer_list<int> list = {}) {
  std::string text(Call::bytes, '\0');
  text[0] = static_cast<char>(code);
  text[1] = static_cast<char>(name);
  std::copy(numbers.begin(), numbers.end(), text.begin() + 3);
  std::copy(list.begin(), list.end(), text.begin() + 15);
  return text;
}

std::vector<std::string> fuzzSeeds(const std::vector<std::string> &) {
  // Offsets 0x40 + i are 64 * i.
  std::string arena = call(20, 0, {0x7f});
  std::string step = call(18, 0, {}), loss = call(19, 1, {0, 0, 0x42});
  std::string param = call(0, 2, {0, 0, 1, 0x40}, {4});
  std::string launch = call(8, 3, {4, 1, 2}, {0x40, 0x41});
  std::string product =
      call(10, 3, {0, 0, 1, 2, 2, 2, 0x43, 0x44, 0x45, 0xf0, 0xf0},
           {4, 2, 1, 4, 2, 1, 4, 2, 1});
  std::string axis = call(22, 17, {2});
  std::string whole = call(5, 0, {1}, {8}) + call(6, 0, {0, 1, 0}, {0});
  std::string sum = call(12, 3, {0, 0, 0, 0, 4, 1, 0x46, 0x47, 0xf0}, {0});
  return {arena + step + loss,
          arena + param + step + launch + call(16, 0, {0x43, 0x41}) + loss,
          arena + param + step + product + loss,
          axis + arena + param + whole + step + sum + loss};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::unique_ptr<honert_program, void (*)(honert_program *)> program(
      honert_program_new(), honert_program_free);
  honert_meta_number(program.get(), "abi", HONERT_ABI);
  for (size_t at = 0; at + Call::bytes <= size; at += Call::bytes)
    describe(program.get(), Call(data + at));
  return program->check().ok() ? 0 : -1;
}
