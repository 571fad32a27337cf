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

// `text` broken at spaces into lines of at most 80 columns, each begun with `indent` and ended with
// a newline. A word that is longer is broken at the edge.
std::string wrapped(std::string_view text, std::string_view indent);

// Rows of cells as aligned columns, indented by two, each ended with a newline. Where a row would
// exceed 80 columns, the widest ones are made narrower: their cells are broken at spaces into up to
// three lines, and what fits nowhere is shortened with "...". A column titled "at" comes last, and
// is shortened in front, so that a place keeps its line.
std::string table(const std::vector<std::vector<std::string>>& rows);
MarkedText marked_table(const std::vector<std::vector<std::string>>& rows);  // the titles faint

}  // namespace gang::sim
