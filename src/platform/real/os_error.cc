#include "platform/real/os_error.h"

#include <system_error>

namespace naru {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
      return ErrorCode::not_found;
    case EEXIST:
    case EADDRINUSE:
      return ErrorCode::already_exists;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::disk_full;
    case EMFILE:
    case ENFILE:
      return ErrorCode::too_many_open_files;
    default:
      return ErrorCode::io_error;
  }
}

}  // namespace

Status os_error(int error_number, std::string_view call, std::string_view subject) {
  return error(code_of(error_number), "{} {}: {}", call, subject, std::generic_category().message(error_number));
}

}  // namespace naru
