# `cmake --install`, find_package(gangsim) in another project, and tools/package.
#
# Two components: `command` (the command, its Python client and its man page) and `development`
# (headers, libraries, CMake package), which become the Debian packages gangsim and libgangsim-dev.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gangsim")

# The man page says what --help says.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(man_page "${PROJECT_BINARY_DIR}/gangsim.1.gz")
add_custom_command(
  OUTPUT "${man_page}"
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/man_page.py"
    "$<TARGET_FILE:gangsim>" "${man_page}"
  DEPENDS gangsim "${PROJECT_SOURCE_DIR}/tools/man_page.py"
  VERBATIM)
add_custom_target(gangsim_man_page ALL DEPENDS "${man_page}")

install(TARGETS gangsim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
install(DIRECTORY harness/python/
  DESTINATION "${CMAKE_INSTALL_DATADIR}/gangsim/python" COMPONENT command
  FILES_MATCHING PATTERN "*.py")
install(FILES "${man_page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command)

# An export for each component of the CMake package, so that a project finds only what it links.
get_property(installed_targets GLOBAL PROPERTY GANGSIM_INSTALLED_TARGETS)
foreach(target IN LISTS installed_targets)
  get_target_property(component ${target} EXPORT_NAME)
  install(TARGETS ${target} EXPORT gangsim-${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  install(EXPORT gangsim-${component} NAMESPACE gangsim::
    DESTINATION "${package_dir}" COMPONENT development)
endforeach()
# What `cmake --build --target gangsim_packaged` builds is all that is packaged.
add_custom_target(gangsim_packaged)
add_dependencies(gangsim_packaged gangsim gangsim_man_page ${installed_targets})

install(DIRECTORY harness properties
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gangsim" COMPONENT development
  FILES_MATCHING PATTERN "*.h")
foreach(header IN LISTS GANGSIM_GANG_HEADERS GANGSIM_SIM_HEADERS)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${header}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gangsim/${folder}" COMPONENT development)
endforeach()
install(DIRECTORY "${GANGSIM_FORWARDING_DIR}/gangsim"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.h")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/tools/cmake/gangsimConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/gangsimConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/gangsimConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/gangsimConfig.cmake"
  "${PROJECT_BINARY_DIR}/gangsimConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL command development)
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES OFF)  # Call stacks in reports name functions.
set(CPACK_PACKAGE_CONTACT "the gangsim authors <gangsim@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
"The gangsim command runs gang programs on simulated ranks and explains what is wrong.
With the Python client that runs PyTorch programs.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Headers, static libraries and the CMake package of gangsim, for programs of your own.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME gangsim)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "python3")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "graphviz, python3-torch")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgangsim-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# What find_package asks for: gang and sim need the first line; the others are for other components.
string(JOIN ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  libboost-context-dev libdlpack-dev libfmt-dev nlohmann-json3-dev
  libeigen3-dev libtomlplusplus-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "libgtest-dev, librapidcheck-dev, cmake, g++")
if(Gloo_FOUND)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libgloo-dev")
endif()
include(CPack)
