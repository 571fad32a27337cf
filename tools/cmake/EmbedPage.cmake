# cmake -DOUTPUT=FILE.cc -DPAGE=FOLDER -P EmbedPage.cmake: the HTML page's files as a C++ source.

function(gangsim_read_page_file name out)
  file(READ "${PAGE}/${name}" text)
  string(FIND "${text}" ")gangsim_page\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${PAGE}/${name} holds the end of a C++ raw string")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

gangsim_read_page_file(page.html html)
gangsim_read_page_file(page.css style)
set(script "")
foreach(name page.js graph.js faults.js timeline.js start.js)
  gangsim_read_page_file(${name} part)
  string(APPEND script "${part}")
endforeach()

file(WRITE "${OUTPUT}" "// Generated from harness/explanation/page.
#include \"harness/explanation/html_page.h\"

namespace gang::harness {

const PageTemplate& page_template() noexcept {
  static constexpr PageTemplate page = {
      .html = R\"gangsim_page(${html})gangsim_page\",
      .style = R\"gangsim_page(${style})gangsim_page\",
      .script = R\"gangsim_page(${script})gangsim_page\"};
  return page;
}

}  // namespace gang::harness
")
