//===- Enumerations.h - The enumerations of abi.def -------------*- C++ -*-===//

#ifndef HONERT_BASE_ENUMERATIONS_H
#define HONERT_BASE_ENUMERATIONS_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace honert {

// enum class DType : int64_t { f32 = 0, ... }, and so on.
#define HONERT_ENUM(type) enum class type : int64_t {
#define HONERT_VALUE(type, name, number, text) name = number,
#define HONERT_ENUM_END(type)                                                  \
  }                                                                            \
  ;
#include "honert/abi.def"

/// The texts of an enumeration, by number.
template <typename Enum> struct EnumTexts;
#define HONERT_ENUM(type)                                                      \
  template <> struct EnumTexts<type> {                                         \
    static constexpr const char *all[] = {
#define HONERT_VALUE(type, name, number, text) text,
#define HONERT_ENUM_END(type)                                                  \
  }                                                                            \
  ;                                                                            \
  }                                                                            \
  ;
#include "honert/abi.def"

/// How many enumerators there are; they are numbered from 0.
template <typename Enum>
constexpr int64_t countOf = sizeof EnumTexts<Enum>::all / sizeof(const char *);

/// What abi.def calls `value`: "f32", "all_reduce".
template <typename Enum> constexpr const char *name(Enum value) {
  return EnumTexts<Enum>::all[static_cast<int64_t>(value)];
}

/// The enumerator numbered `number`, if there is one.
template <typename Enum>
constexpr std::optional<Enum> enumerator(int64_t number) {
  if (number < 0 || number >= countOf<Enum>)
    return std::nullopt;
  return static_cast<Enum>(number);
}

/// The enumerator called `text`, if there is one.
template <typename Enum>
constexpr std::optional<Enum> enumeratorNamed(std::string_view text) {
  for (int64_t number = 0; number != countOf<Enum>; ++number)
    if (text == EnumTexts<Enum>::all[number])
      return static_cast<Enum>(number);
  return std::nullopt;
}

// Rows of an enumeration stand in the order of their numbers.
#define HONERT_VALUE(type, name, number, text)                                 \
  static_assert(enumeratorNamed<type>(text) == type::name);
#define HONERT_ENUM(type)
#define HONERT_ENUM_END(type)
#include "honert/abi.def"

} // namespace honert

#endif // HONERT_BASE_ENUMERATIONS_H
