#include "sim/text/text_layout.h"

#include <algorithm>

#include <fmt/format.h>

namespace gang::sim {
namespace {

constexpr std::size_t least_column = 8;
constexpr std::size_t least_beside_places = 20;  // that a column is shortened to before places are
constexpr std::string_view place_column = "at";

using Lines = std::vector<std::string>;  // of a cell

// At most `columns` columns of `text`, with "..." for what is left out.
std::string shortened(const std::string& text, std::size_t columns) {
  if (column_count(text) <= columns) return text;
  std::string kept = text;
  while (column_count(kept) + 3 > columns) {
    while (!kept.empty() && (static_cast<unsigned char>(kept.back()) & 0xc0) == 0x80)
      kept.pop_back();
    kept.pop_back();
  }
  return kept + "...";
}

// The end of a place such as "train.cc:41", since the end has the line.
std::string shortened_place(const std::string& text, std::size_t columns) {
  std::size_t begin = 0;
  const auto left = [&] { return column_count(std::string_view(text).substr(begin)); };
  if (left() <= columns) return text;
  while (left() + 3 > columns) {
    ++begin;
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) ++begin;
  }
  return "..." + text.substr(begin);
}

// `text` broken at spaces into a few lines of at most `columns` columns. Longer words, and the text
// beyond those lines, are shortened.
Lines broken(const std::string& text, std::size_t columns) {
  constexpr std::size_t most_lines = 3;
  Lines lines;
  std::string_view rest = text;
  while (column_count(rest) > columns && lines.size() + 1 < most_lines) {
    std::size_t end = rest.find(' ');
    if (end == std::string_view::npos) break;
    for (std::size_t next = end; next != std::string_view::npos;) {
      if (column_count(rest.substr(0, next)) > columns) break;
      end = next;
      next = rest.find(' ', rest.find_first_not_of(' ', next));
    }
    lines.push_back(shortened(std::string(rest.substr(0, end)), columns));
    rest.remove_prefix(std::min(rest.find_first_not_of(' ', end), rest.size()));
  }
  lines.push_back(shortened(std::string(rest), columns));
  return lines;
}

// Narrows the widest columns until a row fits; places last.
void fit(const std::vector<std::string>& titles, std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width + 2;
  const auto widest = [&](bool spares_places) {
    std::size_t found = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool is_place = i < titles.size() && titles[i] == place_column;
      if (spares_places && (is_place || widths[i] <= least_beside_places)) continue;
      if (found == widths.size() || widths[i] > widths[found]) found = i;
    }
    return found;
  };
  for (; total > terminal_columns; --total) {
    std::size_t column = widest(true);
    if (column == widths.size()) column = widest(false);
    if (widths[column] <= least_column) break;
    --widths[column];
  }
}

// The cells of a row, no wider than their columns.
std::vector<Lines> cells_of(const std::vector<std::string>& row,
                            const std::vector<std::string>& titles,
                            const std::vector<std::size_t>& widths) {
  std::vector<Lines> cells;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool is_place = i < titles.size() && titles[i] == place_column;
    cells.push_back(is_place ? Lines{shortened_place(row[i], widths[i])}
                             : broken(row[i], widths[i]));
  }
  return cells;
}

// The `index`-th lines of the cells of a row, side by side.
std::string line_of(const std::vector<Lines>& cells, std::size_t index,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = index < cells[i].size() ? cells[i][index] : std::string();
    line += "  " + cell + std::string(widths[i] - column_count(cell), ' ');
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string wrapped_line(std::string_view text, std::string_view indent) {
  std::string result;
  std::string line(indent);
  bool is_empty = true;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    if (column_count(indent) + column_count(word) > terminal_columns) {
      // Longer than any line: starts on this one and breaks at the edge.
      if (!is_empty && column_count(line) + 1 < terminal_columns) line += ' ';
      for (const char byte : word) {
        const bool begins_character = (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
        if (begins_character && column_count(line) >= terminal_columns) {
          result += line + "\n";
          line = indent;
        }
        line += byte;
      }
      is_empty = false;
      continue;
    }
    if (!is_empty && column_count(line) + 1 + column_count(word) > terminal_columns) {
      result += line + "\n";
      line = indent;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return is_empty ? result : result + line + "\n";
}

}  // namespace

std::size_t column_count(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

std::string wrapped(std::string_view text, std::string_view indent) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += wrapped_line(text.substr(0, end), indent);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string described(std::string_view name, std::string_view text, std::size_t column) {
  const std::string first = fmt::format("  {}", name);
  std::string lines = wrapped(text, std::string(column, ' '));
  const std::size_t columns = column_count(first);
  if (lines.empty() || columns >= column) return first + "\n" + lines;
  return lines.replace(0, column, first + std::string(column - columns, ' '));
}

MarkedText marked_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], column_count(row[i]));
  }
  if (rows.empty()) return {};
  fit(rows.front(), widths);
  std::vector<std::vector<Lines>> broken_rows;
  for (const auto& row : rows) broken_rows.push_back(cells_of(row, rows.front(), widths));
  // Lines that are broken at spaces may all be shorter than their column.
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = 0;
    for (const auto& cells : broken_rows)
      if (i < cells.size())
        for (const std::string& line : cells[i])
          widths[i] = std::max(widths[i], column_count(line));
  }
  MarkedText text;
  for (const auto& cells : broken_rows) {
    std::size_t lines = 1;
    for (const Lines& cell : cells) lines = std::max(lines, cell.size());
    const TextRole role = &cells == &broken_rows.front() ? TextRole::faint : TextRole::plain;
    for (std::size_t i = 0; i < lines; ++i) {
      text.add(line_of(cells, i, widths), role);
      text.add("\n");
    }
  }
  return text;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  return plain_text(marked_table(rows));
}

}  // namespace gang::sim
