// A table of text in two passes over its rows: one measures, one prints. So a million rows needn't
// be held.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace npyfs {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    // A longer cell sticks out of its row and leaves the other rows as they are.
    std::size_t most = 60;
  };
  using Row = std::vector<std::string>;

  explicit Table(std::vector<Column> columns);

  void measure(const Row& row);

  void print_titles(std::ostream& out) const;
  // A cell more than there are columns stands behind the row as it is.
  void print(const Row& row, std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
};

}  // namespace npyfs
