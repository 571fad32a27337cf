// The gangsim command without what needs the laws of properties/.
#include "tools/program_commands.h"

int main(int argc, char** argv) {
  gang::harness::CommandLine command_line = gang::tools::make_program_commands();
  return gang::harness::run_command_line(command_line, argc, argv);
}
