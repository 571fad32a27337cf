# `cmake --install` and find_package(gangsim) in another project.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gangsim")

get_property(installed_targets GLOBAL PROPERTY GANGSIM_INSTALLED_TARGETS)
install(TARGETS ${installed_targets} EXPORT gangsimTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS gangsim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

install(DIRECTORY sim harness properties
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gangsim"
  FILES_MATCHING PATTERN "*.h")
foreach(header IN LISTS GANGSIM_GANG_HEADERS)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gangsim/${folder}")
endforeach()
install(DIRECTORY "${GANGSIM_FORWARDING_DIR}/gangsim"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")

install(DIRECTORY harness/python/
  DESTINATION "${CMAKE_INSTALL_DATADIR}/gangsim/python"
  FILES_MATCHING PATTERN "*.py")

install(EXPORT gangsimTargets NAMESPACE gangsim:: DESTINATION "${package_dir}")
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
  DESTINATION "${package_dir}")
