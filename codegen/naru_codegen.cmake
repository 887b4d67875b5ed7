# naru_generate_messages(TARGET SCHEMAS folder NAMESPACE namespace PREFIX include-folder)
#
# Generates C++ from every schema of a folder (relative to the root of the repository) and compiles it into TARGET.
# The headers are included as "PREFIX/NAME.h"; random_messages.h and message_fields.h
# there are for tests.
function(naru_generate_messages target)
  cmake_parse_arguments(arg "" "SCHEMAS;NAMESPACE;PREFIX" "" ${ARGN})
  file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${arg_SCHEMAS}/*.json)
  if(NOT schemas)
    return()
  endif()

  set(codegen ${CMAKE_SOURCE_DIR}/codegen)
  set(folder ${CMAKE_BINARY_DIR}/generated/${arg_PREFIX})
  set(outputs ${folder}/all_messages.h ${folder}/random_messages.h ${folder}/message_fields.h)
  foreach(schema ${schemas})
    get_filename_component(name ${schema} NAME_WE)
    list(APPEND outputs ${folder}/${name}.h ${folder}/${name}.cc)
    file(STRINGS ${schema} api_keys REGEX "\"apiKey\"")
    list(APPEND all_api_keys ${api_keys})
  endforeach()
  if(all_api_keys)
    list(APPEND outputs ${folder}/api_rows.h)
  endif()

  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${Python3_EXECUTABLE} ${codegen}/generate.py --schemas ${CMAKE_SOURCE_DIR}/${arg_SCHEMAS} --origin ${arg_SCHEMAS}
            --namespace ${arg_NAMESPACE} --prefix ${arg_PREFIX} --output ${CMAKE_BINARY_DIR}/generated
    DEPENDS ${schemas} ${codegen}/generate.py ${codegen}/schema.py ${codegen}/cpp_types.py ${codegen}/cpp_message.py
            ${codegen}/cpp_folder.py
    COMMENT "Generating ${arg_PREFIX} from ${arg_SCHEMAS}"
    VERBATIM)
  target_sources(${target} PRIVATE ${outputs})
endfunction()
