#include "cli/table.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/text.h"

namespace npyfs {
namespace {

constexpr std::string_view kGap = "  ";

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) {
    widths_.push_back(width_of(column.title));
  }
}

void Table::measure(const Row& row) {
  for (std::size_t i = 0; i < std::min(row.size(), columns_.size()); ++i) {
    widths_[i] = std::max(widths_[i], std::min(width_of(row[i]), columns_[i].most));
  }
}

void Table::print_titles(std::ostream& out) const {
  Row titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
  }
  print(titles, out);
}

void Table::print(const Row& row, std::ostream& out) const {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    line += i == 0 ? "" : kGap;
    const bool in_column = i < columns_.size();
    const std::size_t width = width_of(row[i]);
    const std::size_t fill = in_column && width < widths_[i] ? widths_[i] - width : 0;
    const bool right = in_column && columns_[i].align == Align::kRight;
    line += right ? std::string(fill, ' ') + row[i] : row[i] + std::string(fill, ' ');
  }
  line.resize(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

}  // namespace npyfs
