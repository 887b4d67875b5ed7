set(NARU_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined or thread")
option(NARU_FUZZ "Build the libFuzzer targets (*_fuzz.cc)" OFF)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
pkg_check_modules(libuv REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
find_library(SNAPPY_LIBRARY snappy REQUIRED)
find_library(ZOOKEEPER_LIBRARY libzookeeper_mt.a REQUIRED)
find_package(benchmark QUIET)

add_library(naru_flags INTERFACE)
target_compile_options(naru_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  -Wunused -Wthread-safety -Werror=switch -Werror=unused-result -Werror=return-type -Werror
  -Wno-missing-field-initializers -Wno-missing-designated-field-initializers
  -fno-omit-frame-pointer)
target_include_directories(naru_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_link_options(naru_flags INTERFACE -fuse-ld=lld-19)
target_link_libraries(naru_flags INTERFACE Threads::Threads)

if(NARU_SANITIZE)
  target_compile_options(naru_flags INTERFACE -fsanitize=${NARU_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(naru_flags INTERFACE -fsanitize=${NARU_SANITIZE})
endif()
if(NARU_FUZZ)
  target_compile_options(naru_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
