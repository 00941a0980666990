#include "npyfs/format/element_type.h"

#include <gtest/gtest.h>

namespace npyfs {
namespace {

TEST(ElementTypeTest, EveryTypeIsFoundByItsName) {
  EXPECT_EQ(element_types().size(), 20U);
  for (const ElementType type : element_types()) {
    EXPECT_EQ(element_type_named(element_name(type)), type);
  }
}

TEST(ElementTypeTest, OtherNamesAreNotFound) {
  for (const char* name : {"", "float32", "float8", "bfloat", "int8", "Int4", "float8_e4m3fn "}) {
    EXPECT_EQ(element_type_named(name), std::nullopt) << name;
  }
}

TEST(ElementTypeTest, SubByteTypesTakeOneByteEach) {
  EXPECT_EQ(element_size(ElementType::kInt1), 1U);
  EXPECT_EQ(element_size(ElementType::kUint4), 1U);
  EXPECT_EQ(element_size(ElementType::kFloat4E2m1fn), 1U);
  EXPECT_EQ(element_size(ElementType::kFloat6E3m2fn), 1U);
  EXPECT_EQ(element_size(ElementType::kBfloat16), 2U);
  EXPECT_EQ(element_size(ElementType::kBcomplex32), 4U);
}

TEST(ElementTypeTest, TwoTypesAreComplex) {
  int complex_types = 0;
  for (const ElementType type : element_types()) {
    complex_types += is_complex(type) ? 1 : 0;
  }
  EXPECT_EQ(complex_types, 2);
  EXPECT_TRUE(is_complex(ElementType::kComplex32));
  EXPECT_TRUE(is_complex(ElementType::kBcomplex32));
}

}  // namespace
}  // namespace npyfs
