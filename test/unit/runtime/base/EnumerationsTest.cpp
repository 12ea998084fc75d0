//===- EnumerationsTest.cpp - The enumerations of abi.def -----------------===//

#include "base/Enumerations.h"

#include <gtest/gtest.h>
#include <string>

using namespace honert;

namespace {

template <typename Enum> std::string namesOf() {
  std::string names;
  for (int64_t number = 0; number != countOf<Enum>; ++number)
    names += std::string(number ? " " : "") + name(*enumerator<Enum>(number));
  return names;
}

/// Compiled programs hold these numbers: another order needs another
/// HONERT_ABI.
TEST(Enumerations, keep_their_numbers) {
  EXPECT_EQ(namesOf<DType>(), "f32 f64 bf16 f16 i64 i32 i8 i1 f8E4M3FN f8E5M2");
  EXPECT_EQ(namesOf<ScaleMode>(), "tensor 1x16 1x32 row 1x128 128x128");
  EXPECT_EQ(namesOf<Kind>(),
            "param buffer opt grad input rng scalar working_copy cache "
            "boundary saved");
  EXPECT_EQ(namesOf<ActionKind>(), "run send receive await_receive await_send");
  EXPECT_EQ(namesOf<InitKind>(), "none constant normal uniform file");
  EXPECT_EQ(namesOf<Role>(), " tokens targets");
  EXPECT_EQ(namesOf<CodeKind>(), "PTX machine code");
  EXPECT_EQ(namesOf<CollectiveKind>(),
            "all_reduce all_gather reduce_scatter all_to_all shift");
  EXPECT_EQ(namesOf<ReduceKind>(), "sum max min");
  EXPECT_EQ(namesOf<Epilogue>(),
            "gelu gelu_aux gelu_bwd gelu_bwd_sums sums_a sums_b");
}

TEST(Enumerations, are_found_by_number_and_by_text) {
  EXPECT_EQ(enumerator<ReduceKind>(2), ReduceKind::min);
  EXPECT_EQ(enumerator<ReduceKind>(3), std::nullopt);
  EXPECT_EQ(enumerator<ReduceKind>(-1), std::nullopt);
  EXPECT_EQ(enumeratorNamed<Kind>("rng"), Kind::rng);
  EXPECT_EQ(enumeratorNamed<Kind>("random"), std::nullopt);
  EXPECT_EQ(enumeratorNamed<Role>(""), Role::none);
}

} // namespace
