#include "npyfs/source/source.h"

#include <memory>

#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/counting_source.h"

namespace npyfs {
namespace {

TEST(SourceTest, GatherReadsIntoScratchWhereASourceLendsNothing) {
  const auto source = std::make_shared<CountingSource>(memory(std::string("0123456789")));
  Gather gather(6);
  source->gather(1, 4, gather);
  source->gather(8, 2, gather);
  ASSERT_EQ(gather.spans().size(), 1U);
  EXPECT_EQ(std::string(static_cast<const char*>(gather.spans()[0].iov_base), 6), "123489");
  EXPECT_EQ(source->reads().size(), 2U);
}

TEST(SourceTest, IsAtHandUnlessItSaysOtherwise) {
  EXPECT_TRUE(memory(std::string("abc"))->at_hand(0, 3));
}

}  // namespace
}  // namespace npyfs
