// Laying out text for an 80-column terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/text/marked_text.h"

namespace gang::sim {

inline constexpr std::size_t terminal_columns = 80;

// Columns that UTF-8 text takes, counting a code point as one.
std::size_t column_count(std::string_view text) noexcept;

// `text` broken at its newlines, and at spaces into lines of at most 80 columns, each starting with
// `indent` and ending with a newline. A longer word is broken at the edge; empty lines are left
// out.
std::string wrapped(std::string_view text, std::string_view indent);

// `name`, indented by two, and beside it, from `column` on, `text`, broken at spaces into lines of
// at most 80 columns; below it, where the name is too long. Ends with a newline.
std::string described(std::string_view name, std::string_view text, std::size_t column);

// Rows of cells as aligned columns, indented by two, each ending with a newline. If a row exceeds
// 80 columns, the widest columns are narrowed: their cells are broken at spaces into up to three
// lines, and shortened with "..." if they still do not fit. A column titled "at" is narrowed last,
// and shortened in front, so that a place keeps its line.
std::string table(const std::vector<std::vector<std::string>>& rows);
MarkedText marked_table(const std::vector<std::vector<std::string>>& rows);  // the titles faint

}  // namespace gang::sim
