# naru_folder(NAME [SUBFOLDERS dir...] [DEPENDS lib...] [TEST_DEPENDS lib...])
#
# One folder of src/ is one library, naru_NAME, made of its *.cc files. The suffix tells the kind of the others:
#   *_test.cc   go into one test program, NAME_test, which ctest runs
#   *_fuzz.cc   are libFuzzer targets, built with the preset "fuzz"
#   *_bench.cc  are Google Benchmark programs
# DEPENDS names the libraries of lower layers; tools/layers.txt says which those are, and a test checks the includes.
function(naru_folder name)
  cmake_parse_arguments(arg "" "" "SUBFOLDERS;DEPENDS;TEST_DEPENDS" ${ARGN})
  file(GLOB all_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(subfolder ${arg_SUBFOLDERS})
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${subfolder}/*.cc)
    list(APPEND all_sources ${more})
  endforeach()
  set(sources ${all_sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench|/main)\\.cc$")

  if(sources)
    add_library(naru_${name} STATIC ${sources})
    target_link_libraries(naru_${name} PUBLIC naru_flags ${arg_DEPENDS})
  else()
    add_library(naru_${name} INTERFACE)
    target_link_libraries(naru_${name} INTERFACE naru_flags ${arg_DEPENDS})
  endif()

  set(tests ${all_sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE naru_${name} ${arg_TEST_DEPENDS} GTest::gtest GTest::gtest_main)
    # What a test itself does is not worth much optimisation: this takes 40 % off the time to compile it.
    target_compile_options(${name}_test PRIVATE -O1 -g1)
    add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
  endif()

  if(NARU_FUZZ)
    set(fuzzers ${all_sources})
    list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
    foreach(source ${fuzzers})
      get_filename_component(target ${source} NAME_WE)
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE naru_${name} ${arg_TEST_DEPENDS})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()

  if(benchmark_FOUND)
    set(benches ${all_sources})
    list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
    foreach(source ${benches})
      get_filename_component(target ${source} NAME_WE)
      add_executable(${target} EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${target} PRIVATE naru_${name} ${arg_TEST_DEPENDS} benchmark::benchmark benchmark::benchmark_main)
    endforeach()
  endif()
endfunction()
