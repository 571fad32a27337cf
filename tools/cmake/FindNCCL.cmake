# NCCL and the CUDA runtime, for the backend nccl: their headers, and where their libraries are on
# this machine. The libraries are loaded on demand, so nothing is linked.
#
# NCCL_FOUND, NCCL_INCLUDE_DIRS, and NCCL_LIBRARY_NAMES: compile definitions.

set(_roots /usr/local/cuda $ENV{CUDA_HOME} $ENV{CUDA_PATH} $ENV{NCCL_HOME})
find_path(NCCL_HEADER_DIR nccl.h PATHS ${_roots} PATH_SUFFIXES include)
find_path(NCCL_CUDA_HEADER_DIR cuda_runtime_api.h PATHS ${_roots} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY nccl PATHS ${_roots} PATH_SUFFIXES lib64 lib)
find_library(NCCL_CUDART_LIBRARY cudart PATHS ${_roots} PATH_SUFFIXES lib64 lib)
mark_as_advanced(
  NCCL_HEADER_DIR NCCL_CUDA_HEADER_DIR NCCL_LIBRARY NCCL_CUDART_LIBRARY)

# An older NCCL has no all_to_all, gather and scatter.
if(NCCL_HEADER_DIR)
  file(STRINGS "${NCCL_HEADER_DIR}/nccl.h" _lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" _numbers "${_lines}")
  string(REPLACE ";" "." NCCL_VERSION "${_numbers}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL
  REQUIRED_VARS NCCL_HEADER_DIR NCCL_CUDA_HEADER_DIR
  VERSION_VAR NCCL_VERSION)

if(NCCL_FOUND AND NCCL_VERSION VERSION_LESS 2.28.7)
  set(NCCL_FOUND FALSE)
endif()
if(NCCL_FOUND)
  set(NCCL_INCLUDE_DIRS "${NCCL_HEADER_DIR};${NCCL_CUDA_HEADER_DIR}")
  file(STRINGS "${NCCL_CUDA_HEADER_DIR}/cuda_runtime_api.h" _line REGEX "#define CUDART_VERSION")
  string(REGEX MATCH "[0-9]+" _cudart "${_line}")
  math(EXPR _cudart_major "${_cudart} / 1000")
  set(NCCL_LIBRARY_NAMES
    "GANGSIM_CUDART_SONAME=\"libcudart.so.${_cudart_major}\""
    "GANGSIM_CUDART_PATH=\"${NCCL_CUDART_LIBRARY}\""
    "GANGSIM_NCCL_SONAME=\"libnccl.so.2\""
    "GANGSIM_NCCL_PATH=\"${NCCL_LIBRARY}\"")
endif()
