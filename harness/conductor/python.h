// The Python that runs the processes of ranks.
#pragma once

#include <string>

namespace gang::harness {

// The first python3 of PATH that can import `module` (empty: the first one), or `given` if it is
// not empty. Throws NotSupported if there is none, and says what was tried; Interrupted.
std::string find_python(const std::string& given, const std::string& module);

// The folder of the package gangsim: beside this binary, as built or as installed. Throws
// NotSupported if it is not there.
std::string find_packages();

}  // namespace gang::harness
