#include "cli/table.h"

#include <sstream>

#include <gtest/gtest.h>

namespace npyfs {
namespace {

std::string text_of_table(Table table, const std::vector<Table::Row>& rows) {
  for (const Table::Row& row : rows) {
    table.measure(row);
  }
  std::ostringstream out;
  table.print_titles(out);
  for (const Table::Row& row : rows) {
    table.print(row, out);
  }
  return out.str();
}

TEST(TableTest, AlignsColumnsToTheirWidestCell) {
  EXPECT_EQ(text_of_table(Table({{"name"}, {"bytes", Align::kRight}, {"kind"}}),
                          {{"embedding", "12 B", "stored"}, {"b", "1.5 KiB", "deflate"}}),
            "name         bytes  kind\n"
            "embedding     12 B  stored\n"
            "b          1.5 KiB  deflate\n");
}

TEST(TableTest, ALongCellLeavesTheOtherRowsAlone) {
  EXPECT_EQ(text_of_table(Table({{"name", Align::kLeft, 4}, {"kind"}}),
                          {{"very_long_name", "x"}, {"b", "y"}}),
            "name  kind\n"
            "very_long_name  x\n"
            "b     y\n");
}

TEST(TableTest, PrintsASurplusCellBehindTheRow) {
  EXPECT_EQ(text_of_table(Table({{"name"}}), {{"a", "! broken"}}), "name\na     ! broken\n");
}

TEST(TableTest, MeasuresCharactersAndNotBytes) {
  EXPECT_EQ(text_of_table(Table({{"n"}, {"k"}}), {{"größe", "x"}, {"abcde", "y"}}),
            "n      k\ngröße  x\nabcde  y\n");
}

}  // namespace
}  // namespace npyfs
